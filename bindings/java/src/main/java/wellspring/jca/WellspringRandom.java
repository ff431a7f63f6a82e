package wellspring.jca;

import java.security.DrbgParameters;
import java.security.DrbgParameters.Capability;
import java.security.SecureRandomParameters;
import java.security.SecureRandomSpi;
import java.util.Objects;

/** The algorithm {@code Wellspring}. Its instances have no state but the personalization string that they return. */
final class WellspringRandom extends SecureRandomSpi {
    private static final long serialVersionUID = 1;
    private static final int STRENGTH_BITS = 256;

    /**
     * The most bytes of one call into the library. The JVM can collect no garbage during a call of {@link Fill}, which takes
     * about 5 microseconds for this many.
     */
    private static final int PIECE_BYTES = 64 << 10;

    /** @serial what {@code getParameters} returns; may be null */
    private final byte[] personalization;

    /** @throws IllegalArgumentException as the JDK's DRBG does */
    WellspringRandom(SecureRandomParameters parameters) {
        if (parameters == null) {
            personalization = null;
            return;
        }
        DrbgParameters.Instantiation asked = cast(DrbgParameters.Instantiation.class, parameters);
        checkStrength(asked.getStrength());
        personalization = asked.getPersonalizationString();
        mix(personalization);
    }

    @Override
    protected void engineNextBytes(byte[] bytes) {
        int length = bytes.length;
        int offset = 0;
        while (length - offset > PIECE_BYTES) {
            Native.check(Fill.fill(bytes, offset, PIECE_BYTES));
            offset += PIECE_BYTES;
        }
        Native.check(Fill.fill(bytes, offset, length - offset));
    }

    @Override
    protected void engineNextBytes(byte[] bytes, SecureRandomParameters parameters) {
        Objects.requireNonNull(bytes);
        if (parameters != null) {
            DrbgParameters.NextBytes asked = cast(DrbgParameters.NextBytes.class, parameters);
            checkStrength(asked.getStrength());
            mix(asked.getAdditionalInput());
            if (asked.getPredictionResistance()) {
                Native.check(Native.reseed());
            }
        }
        engineNextBytes(bytes);
    }

    @Override
    protected void engineReseed(SecureRandomParameters parameters) {
        if (parameters != null) {
            mix(cast(DrbgParameters.Reseed.class, parameters).getAdditionalInput());
        }
        Native.check(Native.reseed());
    }

    @Override
    protected void engineSetSeed(byte[] seed) {
        mix(Objects.requireNonNull(seed));
    }

    @Override
    protected byte[] engineGenerateSeed(int length) {
        byte[] seed = new byte[length];
        engineNextBytes(seed);
        return seed;
    }

    @Override
    protected SecureRandomParameters engineGetParameters() {
        return DrbgParameters.instantiation(STRENGTH_BITS, Capability.PR_AND_RESEED, personalization);
    }

    @Override
    public String toString() {
        return WellspringProvider.NAME;
    }

    /** An instance that was saved may be the first of this process. */
    private Object readResolve() {
        Native.load();
        return this;
    }

    private static void mix(byte[] data) {
        if (data != null) {
            Native.check(Native.mix(data));
        }
    }

    private static void checkStrength(int bits) {
        if (bits > STRENGTH_BITS) {
            throw new IllegalArgumentException("strength too high: " + bits + " bits of at most " + STRENGTH_BITS);
        }
    }

    private static <T> T cast(Class<T> type, SecureRandomParameters parameters) {
        if (!type.isInstance(parameters)) {
            throw new IllegalArgumentException("not " + type.getName() + ": " + parameters.getClass());
        }
        return type.cast(parameters);
    }
}
