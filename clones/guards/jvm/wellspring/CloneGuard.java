package wellspring;

import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Gives the generators of a program new state when its machine was cloned or restored: an agent.
 *
 * <pre>
 * java -javaagent:/usr/local/lib/wellspring/guards/clone-guard.jar program.jar
 * JAVA_TOOL_OPTIONS=-javaagent:/usr/local/lib/wellspring/guards/clone-guard.jar      for every program
 * java -javaagent:clone-guard.jar=required program.jar       ends where the guard cannot work, in place of a warning
 * </pre>
 *
 * A thread compares the number of the generation page (clones/generation-page.md of the project) every 10 ms. After a change
 * these get new state: every {@code Random} and {@code SplittableRandom} without a seed, {@code ThreadLocalRandom} of every
 * thread, the generators of {@code jdk.random} without a seed, and every {@code SecureRandom}. One of the provider
 * {@code Wellspring} needs no seed and loses the waiting number of {@code nextGaussian} alone. So do {@code Math.random},
 * {@code Collections.shuffle} and {@code UUID.randomUUID}.
 *
 * <p>A generator with a seed keeps its sequence: the agent notes where a constructor had none, and calls of {@code setSeed}. No
 * method that draws is changed. It knows the class files of Java 17 to 23.
 */
public final class CloneGuard {
    private static final int PAGE_BYTES = 4096;
    private static final int COUNTER = 104;
    /** The number for which the kernel took new keys, or its inverse if it could not: 0 where the writer does not say it. */
    private static final int KERNEL = 2048;
    private static final int KERNEL_WAIT_MS = 100;
    private static final int LOOK_MS = 10;
    /** A page may appear or be replaced: one look in this many opens the path. */
    private static final int LOOKS_TO_OPEN = 100;

    /** The generators without a seed. */
    private static final Map<Noted, Noted> unseeded = new HashMap<>();
    private static final ReferenceQueue<Object> ended = new ReferenceQueue<>();
    private static final List<Runnable> functions = new ArrayList<>();

    private static Path path;
    private static MappedByteBuffer page;
    private static Object inode;
    private static long looks;
    private static long handled;
    /** What the new states of one notice are made of. */
    private static String seed = "";
    private static long numbers;
    private static volatile Thread healer;
    private static volatile long notices;
    private static volatile double lastMs;

    private CloneGuard() {}

    /** Called by {@link CloneGuardAgent}. If it fails, nothing of it is left in the runtime. */
    public static void start(Instrumentation instrumentation) throws Exception {
        String variable = System.getenv("WELLSPRING_PAGE");
        path = Path.of(variable == null ? "/run/wellspring/generation" : variable);
        Module ours = CloneGuard.class.getModule();
        Set<Module> us = Set.of(ours);
        instrumentation.redefineModule(
                Object.class.getModule(),
                Set.of(),
                Map.of("jdk.internal.org.objectweb.asm", us),
                Map.of("java.lang", us, "java.util", us, "java.util.concurrent", us),
                Set.of(),
                Map.of());
        ModuleLayer.boot().findModule("jdk.random").ifPresent(module -> instrumentation.redefineModule(
                module, Set.of(), Map.of(), Map.of("jdk.random", us), Set.of(), Map.of()));
        ClassFileTransformer rewriter = new CloneGuardRewriter();
        instrumentation.addTransformer(rewriter, true);
        try {
            instrumentation.retransformClasses(Random.class, SplittableRandom.class, SecureRandom.class);
        } catch (Exception | Error error) {
            instrumentation.removeTransformer(rewriter);
            throw error;
        }
        check();
        Thread thread = new Thread(null, CloneGuard::watch, "wellspring-clone-guard", 0, false);
        thread.setDaemon(true);
        thread.start();
    }

    private static void watch() {
        try {
            // The first time loads classes, which a notice must not wait for. No generator loses a sequence here.
            synchronized (CloneGuard.class) {
                heal();
                notices = 0;
            }
            while (true) {
                check();
                Thread.sleep(LOOK_MS);
            }
        } catch (InterruptedException ended) {
            // A program that interrupts all threads ends.
        } catch (Exception | Error error) {
            // Such as a page that its owner truncated. The program's own handlers do not get to see it.
            System.err.println("wellspring-clone-guard steps aside: " + error);
        }
    }

    /** Looks for a change now, and heals. Returns whether there was one. */
    public static synchronized boolean check() {
        if (looks % LOOKS_TO_OPEN == 0) {
            openPage();
        }
        looks++;
        if (page == null || page.getLong(COUNTER) == handled) {
            return false;
        }
        handled = page.getLong(COUNTER);
        heal();
        return true;
    }

    /** Calls a function at a notice. It may give a generator of the program's own new state. */
    public static synchronized void register(Runnable function) {
        functions.add(function);
    }

    /** The notices that were handled, and how long the last one took in ms; without a page null. */
    public static synchronized double[] status() {
        return page == null ? null : new double[] {notices, lastMs};
    }

    /** Does what a notice does. */
    public static synchronized void heal() {
        long began = System.nanoTime();
        healer = Thread.currentThread();
        try {
            attempt(CloneGuard::awaitKernel);
            attempt(() -> seed = newSeed());
            attempt(CloneGuard::healShared);
            for (Object generator : generators()) {
                attempt(() -> reseed(generator));
            }
            for (Runnable function : functions) {
                attempt(function::run);
            }
        } finally {
            healer = null;
        }
        lastMs = (System.nanoTime() - began) / 1e6;
        notices++;
    }

    private interface Action {
        void run() throws Exception;
    }

    /** One generator must not keep the others as they were. */
    private static void attempt(Action action) {
        try {
            action.run();
        } catch (Exception | LinkageError error) {
            System.err.println("wellspring-clone-guard: " + error);
        }
    }

    // -- which generators have no seed: called by constructors and by setSeed

    public static void note(Object generator) {
        if (generator instanceof ThreadLocalRandom) {
            return;
        }
        synchronized (unseeded) {
            for (Object one = ended.poll(); one != null; one = ended.poll()) {
                unseeded.remove(one);
            }
            Noted noted = new Noted(generator, ended);
            unseeded.put(noted, noted);
        }
    }

    /** The provider of wellspring compares the page at every read, also between two looks of this guard. */
    private static boolean healsItself(Object generator) {
        Provider provider = generator instanceof SecureRandom secure ? secure.getProvider() : null;
        return provider != null && provider.getName().equals("Wellspring");
    }

    /** A child of a generator without a seed has none either. */
    public static void noteChild(Object child, Object parent) {
        synchronized (unseeded) {
            if (unseeded.containsKey(new Noted(parent, null))) {
                note(child);
            }
        }
    }

    /** The program gave a seed. Most kinds of SecureRandom only add it to what they have. */
    public static void forget(Object generator) {
        boolean adds = generator instanceof SecureRandom secure && addsSeeds(secure.getAlgorithm());
        if (Thread.currentThread() != healer && !adds) {
            synchronized (unseeded) {
                unseeded.remove(new Noted(generator, null));
            }
        }
    }

    private static boolean addsSeeds(String algorithm) {
        return algorithm != null && (algorithm.startsWith("NativePRNG") || algorithm.equals("DRBG"));
    }

    private static List<Object> generators() {
        synchronized (unseeded) {
            List<Object> list = new ArrayList<>();
            for (Noted noted : unseeded.keySet()) {
                Object generator = noted.get();
                if (generator != null) {
                    list.add(generator);
                }
            }
            return list;
        }
    }

    /** A generator that is not kept alive, found by its identity: its own hashCode may be the program's. */
    private static final class Noted extends WeakReference<Object> {
        private final int hash;

        Noted(Object generator, ReferenceQueue<Object> queue) {
            super(generator, queue);
            hash = System.identityHashCode(generator);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            return this == other || other instanceof Noted noted && get() != null && noted.get() == get();
        }
    }

    // -- new state

    /** What gives seeds to new generators, and the state of all threads. */
    private static void healShared() throws Exception {
        atomic(Random.class, "seedUniquifier").set(number());
        atomic(SplittableRandom.class, "defaultGen").set(number());
        atomic(ThreadLocalRandom.class, "seeder").set(number());
        Field seed = Thread.class.getDeclaredField("threadLocalRandomSeed");
        seed.setAccessible(true);
        ThreadGroup root = Thread.currentThread().getThreadGroup();
        while (root.getParent() != null) {
            root = root.getParent();
        }
        Thread[] threads = new Thread[2 * root.activeCount() + 16];
        int count = root.enumerate(threads);
        // A thread that draws at this moment stores its old state: twice, so that one store stays.
        for (int round = 0; round < 2; round++) {
            for (Thread thread : Arrays.copyOf(threads, count)) {
                seed.setLong(thread, number());
            }
            Thread.yield();
        }
    }

    private static AtomicLong atomic(Class<?> type, String name) throws ReflectiveOperationException {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return (AtomicLong) field.get(null);
    }

    private static void reseed(Object generator) throws Exception {
        if (generator instanceof SecureRandom secure) {
            // The class that all inherit from keeps the second of two normal numbers.
            Field hasNumber = Random.class.getDeclaredField("haveNextNextGaussian");
            hasNumber.setAccessible(true);
            hasNumber.setBoolean(secure, false);
            if (!healsItself(secure)) {
                secure.setSeed(fresh());
            }
        } else if (generator instanceof Random random) {
            adopt(Random.class, random, new Random(number()));
        } else {
            Class<?> type = generator.getClass();
            for (Field field : type.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers()) && field.getType() == AtomicLong.class) {
                    atomic(type, field.getName()).set(number());
                }
            }
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            adopt(type, generator, constructor.newInstance());
        }
    }

    /** Gives a generator another's state: the fields that are not final, and the seed of Random. */
    private static void adopt(Class<?> type, Object generator, Object other) throws ReflectiveOperationException {
        for (Field field : type.getDeclaredFields()) {
            boolean isState = !Modifier.isStatic(field.getModifiers()) && field.getType().isPrimitive();
            field.setAccessible(true);
            if (isState && !Modifier.isFinal(field.getModifiers())) {
                field.set(generator, field.get(other));
            } else if (field.get(generator) instanceof AtomicLong seed && field.get(other) != seed) {
                seed.set(((AtomicLong) field.get(other)).get());
            }
        }
    }

    private static long number() throws GeneralSecurityException {
        return ByteBuffer.wrap(fresh()).getLong();
    }

    /** 256 bits: a hash of the seed of this notice and of a number. */
    private static byte[] fresh() throws GeneralSecurityException {
        numbers++;
        return MessageDigest.getInstance("SHA-256").digest((seed + numbers).getBytes());
    }

    /** Waits until the page says that the kernel took new keys for its number, or could not. */
    private static void awaitKernel() {
        long last = System.nanoTime() + KERNEL_WAIT_MS * 1_000_000L;
        while (!isKernelDone() && System.nanoTime() < last) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static boolean isKernelDone() {
        if (page == null) {
            return true;
        }
        long number = page.getLong(COUNTER);
        long kernel = page.getLong(KERNEL);
        return kernel == 0 || kernel == number || kernel == ~number;
    }

    /**
     * The engine's bytes, if the program has its provider; the kernel's, which took new keys before; and the clocks.
     */
    private static String newSeed() throws IOException {
        byte[] engine = new byte[32];
        Provider provider = Security.getProvider("Wellspring");
        if (provider != null) {
            attempt(() -> SecureRandom.getInstance("Wellspring", provider).nextBytes(engine));
        }
        byte[] kernel = new byte[32];
        try (var urandom = new DataInputStream(new FileInputStream("/dev/urandom"))) {
            urandom.readFully(kernel);
        }
        return Arrays.toString(engine) + Arrays.toString(kernel) + System.nanoTime() + java.time.Instant.now() + ' ';
    }

    // -- the page

    /** Maps the page, if this process may believe it. */
    private static void openPage() {
        try {
            Map<String, Object> status = Files.readAttributes(path, "unix:*", LinkOption.NOFOLLOW_LINKS);
            if (status.get("ino").equals(inode)) {
                return;
            }
            int user = (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
            boolean isSafe = ((Integer) status.get("mode") & 0170022) == 0100000
                    && (status.get("uid").equals(0) || status.get("uid").equals(user));
            if (!isSafe || (Long) status.get("size") != PAGE_BYTES) {
                return;
            }
            MappedByteBuffer opened;
            try (FileChannel file = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
                opened = file.map(FileChannel.MapMode.READ_ONLY, 0, PAGE_BYTES);
            }
            opened.order(ByteOrder.LITTLE_ENDIAN);
            boolean isPage = opened.getInt(0) == 0x4b4c4356
                    && opened.getInt(4) >= COUNTER + 8
                    && opened.getShort(8) == 1
                    && (opened.getLong(24) & 1 << 8) != 0;
            if (!isPage) {
                return;
            }
            // The state of this process is older than a page that came later.
            if (looks == 0) {
                handled = opened.getLong(COUNTER);
            }
            page = opened;
            inode = status.get("ino");
        } catch (IOException | RuntimeException none) {
            // No page.
        }
    }
}
