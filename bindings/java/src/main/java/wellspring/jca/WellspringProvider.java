package wellspring.jca;

import java.security.InvalidParameterException;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.ProviderException;
import java.security.SecureRandomParameters;
import java.security.Security;
import java.util.Map;
import java.util.Objects;

/**
 * The JCA provider {@code Wellspring}. It has one algorithm, {@code SecureRandom.Wellspring}.
 *
 * <p>The bytes are fit for keys. Every native thread reads from a key and a buffer of its own, so threads do not wait for each
 * other, and all instances are alike. What a finished call returned cannot be recomputed from the memory of the process.
 *
 * <ul>
 *   <li>{@code setSeed} adds to the generator's pools and replaces nothing. It takes effect with the next reseed.
 *   <li>{@code reseed}, and prediction resistance, reseed the generator of the whole process at once.
 *   <li>{@code getParameters} returns {@link java.security.DrbgParameters.Instantiation}: 256 bits, {@code PR_AND_RESEED}. Other
 *       {@link java.security.DrbgParameters} are taken as the JDK's algorithm {@code DRBG} takes them.
 *   <li>A call that cannot be served throws {@link ProviderException}.
 * </ul>
 */
public final class WellspringProvider extends Provider {
    /** The name of the provider, and of its algorithm. */
    public static final String NAME = "Wellspring";

    private static final long serialVersionUID = 1;

    /**
     * Loads the native library, and waits until the generator is seeded.
     *
     * @throws ProviderException if there is no library for this system, or if it cannot be loaded
     */
    public WellspringProvider() {
        super(NAME, "0.1.0", "SecureRandom from wellspring's engine: Fortuna, a key for each thread");
        Native.load();
        putService(new RandomService(this));
    }

    /** Makes this the first provider: {@code new SecureRandom()} and {@code UUID.randomUUID()} then use it. */
    public static void install() {
        Security.insertProviderAt(new WellspringProvider(), 1);
    }

    /**
     * Separates this process from all copies of it and of its machine. Call it first after a restored snapshot or checkpoint,
     * such as in {@code afterRestore} of CRaC. With a generation page the generator does so by itself.
     *
     * @return the new generation, one more with every reseed
     */
    public static long divergeFromClones() {
        Native.load();
        return Native.diverge();
    }

    /**
     * Reseeds the generator of this process from its sources and from all that {@link #mix} and {@code setSeed} added before.
     * Every thread takes a fresh key at its next read. The generator reseeds itself: this is for a caller who has a reason.
     *
     * @throws ProviderException if the sources yielded nothing to reseed with
     */
    public static void reseed() {
        Native.load();
        Native.check(Native.reseed());
    }

    /**
     * Hashes data into the generator's pools, without credit: data from an attacker weakens nothing. It takes effect at a later
     * reseed. The call never waits: it drops the data if data of 64 calls waits for the pools.
     *
     * @param data what is mixed in; it stays as it is
     */
    public static void mix(byte[] data) {
        Native.load();
        Native.check(Native.mix(Objects.requireNonNull(data)));
    }

    /**
     * Prepares this process for a sandbox that forbids system calls. Afterwards no read of the generator makes one, and reseeds
     * draw on the processor's instructions alone. This cannot be undone. Call it before the filter is installed, and on each
     * native thread that will read. The JVM itself goes on making system calls.
     *
     * @throws ProviderException if the generator is not seeded yet; nothing is changed then
     */
    public static void prepareForSandbox() {
        Native.load();
        Native.check(Native.prepare());
    }

    /**
     * A provider has no state: a saved provider is read back as a new one, which loads the library.
     *
     * @return a new provider
     */
    private Object readResolve() {
        return new WellspringProvider();
    }

    private static final class RandomService extends Provider.Service {
        RandomService(Provider provider) {
            super(
                    provider,
                    "SecureRandom",
                    NAME,
                    WellspringRandom.class.getName(),
                    null,
                    Map.of("ThreadSafe", "true", "ImplementedIn", "Software"));
        }

        @Override
        public Object newInstance(Object parameter) throws NoSuchAlgorithmException {
            if (parameter != null && !(parameter instanceof SecureRandomParameters)) {
                throw new InvalidParameterException("not SecureRandomParameters: " + parameter.getClass());
            }
            try {
                return new WellspringRandom((SecureRandomParameters) parameter);
            } catch (IllegalArgumentException unsupported) {
                throw new NoSuchAlgorithmException(NAME, unsupported);
            }
        }
    }
}
