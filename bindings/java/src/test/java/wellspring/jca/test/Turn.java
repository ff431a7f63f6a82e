package wellspring.jca.test;

import java.security.SecureRandom;
import java.util.UUID;

/**
 * Prints the algorithm of {@code new SecureRandom()}, and the nanoseconds of 16 bytes from it and of {@code UUID.randomUUID()}.
 * {@code cargo xtask bench --doors} starts it in turns, with the provider and without.
 */
final class Turn {
    private static final int BATCHES = 200;
    private static final int CALLS = 10_000;

    /** What the compiler cannot leave out. */
    private static volatile int sink;

    private Turn() {}

    public static void main(String[] words) {
        SecureRandom random = new SecureRandom();
        byte[] bytes = new byte[16];
        System.out.println(random.getAlgorithm());
        System.out.println(nanoseconds(() -> random.nextBytes(bytes)));
        System.out.println(nanoseconds(() -> sink = UUID.randomUUID().hashCode()));
    }

    /** Of the fastest batch: the first ones are not compiled, and other work on the machine only adds. */
    private static double nanoseconds(Runnable call) {
        long least = Long.MAX_VALUE;
        for (int batch = 0; batch < BATCHES; batch++) {
            long start = System.nanoTime();
            for (int i = 0; i < CALLS; i++) {
                call.run();
            }
            least = Math.min(least, System.nanoTime() - start);
        }
        return (double) least / CALLS;
    }
}
