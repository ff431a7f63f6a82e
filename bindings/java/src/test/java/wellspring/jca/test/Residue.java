package wellspring.jca.test;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Looks for bytes that were drawn in all writable memory of the process. */
final class Residue {
    /** What is looked for: the first bytes of a read. */
    private static final int BYTES = 16;

    /** No copy in memory has the bytes themselves. */
    private static final int MASK = 0x5a;

    private Residue() {}

    /**
     * Draws values of {@code sizes} bytes, wipes them unless they are kept, and returns how many draws are still in memory.
     * Each draw is on a thread of its own, which then waits: nothing else overwrites its stack.
     */
    static int found(SecureRandom random, boolean isKept, int... sizes) throws Exception {
        byte[][] kept = new byte[sizes.length][];
        List<byte[]> wanted = new CopyOnWriteArrayList<>();
        CountDownLatch drawn = new CountDownLatch(sizes.length);
        for (int which = 0; which < sizes.length; which++) {
            byte[] bytes = new byte[sizes[which]];
            kept[which] = bytes;
            Thread thread = new Thread(() -> {
                random.nextBytes(bytes);
                byte[] masked = new byte[BYTES];
                for (int i = 0; i < BYTES; i++) {
                    masked[i] = (byte) (bytes[i] ^ MASK);
                }
                wanted.add(masked);
                if (!isKept) {
                    Arrays.fill(bytes, (byte) 0);
                }
                drawn.countDown();
                LockSupport.park();
            });
            thread.setDaemon(true);
            thread.start();
        }
        drawn.await();
        boolean[] isFound = new boolean[wanted.size()];
        try (var memory = new RandomAccessFile("/proc/self/mem", "r")) {
            for (String line : Files.readAllLines(Path.of("/proc/self/maps"), StandardCharsets.ISO_8859_1)) {
                String[] words = line.split("[- ]");
                if (words[2].startsWith("rw")) {
                    search(memory, Long.parseUnsignedLong(words[0], 16), Long.parseUnsignedLong(words[1], 16), wanted, isFound);
                }
            }
        }
        int count = 0;
        for (boolean each : isFound) {
            count += each ? 1 : 0;
        }
        Reference.reachabilityFence(kept);
        return count;
    }

    private static void search(RandomAccessFile memory, long start, long end, List<byte[]> wanted, boolean[] isFound)
            throws Exception {
        byte[] page = new byte[4096 + BYTES];
        for (long at = start; at < end; at += 4096) {
            memory.seek(at);
            int length;
            try {
                length = memory.read(page);
            } catch (IOException unmapped) {
                continue;
            }
            for (int i = 0; i + BYTES <= length; i++) {
                for (int which = 0; which < isFound.length; which++) {
                    byte[] masked = wanted.get(which);
                    int same = 0;
                    while (same < BYTES && (byte) (page[i + same] ^ MASK) == masked[same]) {
                        same++;
                    }
                    isFound[which] |= same == BYTES;
                }
            }
        }
        Arrays.fill(page, (byte) 0);
    }
}
