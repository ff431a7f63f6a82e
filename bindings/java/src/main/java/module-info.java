/** The JCA provider {@code Wellspring}: {@link java.security.SecureRandom} from wellspring's engine. */
module wellspring.jca {
    requires jdk.unsupported;

    exports wellspring.jca;

    provides java.security.Provider with
            wellspring.jca.WellspringProvider;
}
