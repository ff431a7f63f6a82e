package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import wellspring.jca.WellspringProvider;

/** Many threads, many calls, little memory. */
@Timeout(300)
class TortureTest {
    private static SecureRandom random;

    @BeforeAll
    static void make() throws Exception {
        random = SecureRandom.getInstance("Wellspring", new WellspringProvider());
    }

    private static ByteBuffer draw() {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return ByteBuffer.wrap(bytes);
    }

    /** A value of /proc/self/status: kilobytes. */
    private static long status(String name) throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith(name + ":")) {
                return Long.parseLong(line.replaceAll("[^0-9]", ""));
            }
        }
        throw new AssertionError(name);
    }

    /** Starts so many threads, which draw 10 times each and live until {@code end}. */
    private static List<Thread> start(int threads, Set<ByteBuffer> seen, CountDownLatch drawn, CountDownLatch end) {
        List<Thread> list = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Runnable draws = () -> {
                for (int draw = 0; draw < 10; draw++) {
                    seen.add(draw());
                }
                drawn.countDown();
                await(end);
            };
            Thread thread = new Thread(null, draws, "draws", 256 << 10);
            list.add(thread);
            thread.start();
        }
        return list;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    @Test
    void threadsThatEndGiveTheirMemoryBack() throws Exception {
        Set<ByteBuffer> seen = ConcurrentHashMap.newKeySet();
        CountDownLatch drawn = new CountDownLatch(500);
        CountDownLatch end = new CountDownLatch(1);
        List<Thread> first = start(500, seen, drawn, end);
        drawn.await();
        long full = status("VmLck");
        end.countDown();
        for (Thread thread : first) {
            thread.join();
        }
        for (int round = 0; round < 100; round++) {
            for (Thread thread : start(50, seen, new CountDownLatch(50), end)) {
                thread.join();
            }
        }
        assertEquals(5500 * 10, seen.size(), "bytes came twice");
        // 5,000 threads one after another lock no more memory than 500 at a time.
        long after = status("VmLck");
        assertTrue(after <= full, full + " kB of locked memory became " + after);
    }

    @Test
    void tenThousandVirtualThreadsDrawOtherBytes() throws Exception {
        assumeTrue(Runtime.version().feature() >= 21, "SKIPPED: virtual threads came with Java 21");
        Set<ByteBuffer> seen = ConcurrentHashMap.newKeySet();
        CountDownLatch drawn = new CountDownLatch(10_000);
        // Named, since the tests are compiled for Java 17.
        var virtual = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        for (int i = 0; i < 10_000; i++) {
            virtual.execute(() -> {
                seen.add(draw());
                drawn.countDown();
                // All of them live at this point, with a read before and one after.
                await(drawn);
                seen.add(draw());
            });
        }
        virtual.shutdown();
        assertTrue(virtual.awaitTermination(120, TimeUnit.SECONDS));
        assertEquals(20_000, seen.size());
    }

    @Test
    void aMillionCallsTakeNoMemory() throws Exception {
        byte[] small = new byte[16];
        byte[] large = new byte[5000];
        for (int i = 0; i < 100_000; i++) {
            random.nextBytes(i % 2 == 0 ? small : large);
        }
        System.gc();
        long before = status("VmRSS");
        for (int i = 0; i < 1_000_000; i++) {
            random.nextBytes(small);
            random.setSeed(small);
            if (i % 10 == 0) {
                random.nextBytes(large);
            }
            if (i % 1000 == 0) {
                random.reseed();
            }
        }
        System.gc();
        long after = status("VmRSS");
        // 16 bytes that stay in every call would be 16 MB; the JVM's own code and heap grow a little.
        assertTrue(after < before + (12 << 10), before + " kB became " + after);
    }

    @Test
    void theGarbageCollectorMovesArraysBetweenReads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        Set<ByteBuffer> seen = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(() -> {
                for (int size = 1; size <= 2000; size++) {
                    byte[] bytes = new byte[16 * size];
                    random.nextBytes(bytes);
                    seen.add(ByteBuffer.wrap(bytes, 16 * size - 16, 16).slice());
                }
            });
            threads.add(thread);
            thread.start();
        }
        while (threads.stream().anyMatch(Thread::isAlive)) {
            System.gc();
        }
        assertEquals(4 * 2000, seen.size());
    }

    @Test
    void childProcessesStartWhileThreadsDraw() throws Exception {
        Thread reader = new Thread(() -> {
            while (!Thread.currentThread().isInterrupted()) {
                draw();
            }
        });
        reader.start();
        try {
            for (int i = 0; i < 20; i++) {
                assertEquals("done\n", Program.succeeds(new ProcessBuilder("echo", "done")));
            }
        } finally {
            reader.interrupt();
            reader.join();
        }
    }
}
