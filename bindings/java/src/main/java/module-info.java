/** The JCA provider {@code Wellspring}: {@link java.security.SecureRandom} from wellspring's engine. */
@SuppressWarnings("requires-automatic")
module wellspring.jca {
    requires jdk.unsupported;
    // Of TraceIds alone: a program without OpenTelemetry does not need them.
    requires static io.opentelemetry.api;
    requires static io.opentelemetry.sdk.trace;

    exports wellspring.jca;

    provides java.security.Provider with
            wellspring.jca.WellspringProvider;
}
