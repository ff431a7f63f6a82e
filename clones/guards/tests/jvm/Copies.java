import java.io.RandomAccessFile;
import java.lang.ref.Reference;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.SecureRandomSpi;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.random.RandomGenerator;

/**
 * Gives every generator a state that is the same in each run of this program, as copies of a machine have it. Waits for the
 * guard if there is one, and prints what each draws. Generators whose name begins with "kept" have a seed.
 */
public class Copies {
    public static void main(String[] words) throws Exception {
        if (words[1].equals("status")) {
            Object status = Class.forName("wellspring.CloneGuard").getMethod("status").invoke(null);
            System.out.println(status != null);
            return;
        }
        if (words[1].equals("waits")) {
            try (RandomAccessFile file = new RandomAccessFile(words[0], "rw")) {
                file.seek(2048);
                file.writeLong(1);
            }
            waitForGuard(words[0]);
            Object status = Class.forName("wellspring.CloneGuard").getMethod("status").invoke(null);
            System.out.println(((double[]) status)[1] >= 100);
            return;
        }
        if (words[1].equals("truncated")) {
            try (RandomAccessFile file = new RandomAccessFile(words[0], "rw")) {
                file.setLength(0);
            }
            long until = System.nanoTime() + 300_000_000_000L;
            while (Thread.getAllStackTraces().keySet().stream().anyMatch(one -> one.getName().contains("clone-guard"))) {
                if (System.nanoTime() > until) {
                    throw new IllegalStateException("the guard looks at a page without memory");
                }
                Thread.sleep(1);
            }
            System.out.println(new Random().nextLong() != new Random().nextLong());
            return;
        }
        if (words[1].equals("providers")) {
            Seedable wellspring = new Seedable(), another = new Seedable();
            SecureRandom[] kept = {named("Wellspring", wellspring), named("another", another)};
            waitForGuard(words[0]);
            System.out.println("{\"Wellspring\": " + wellspring.hasSeed + ", \"another\": " + another.hasSeed + "}");
            Reference.reachabilityFence(kept);
            return;
        }
        Random plain = new Random(), set = new Random(), seeded = new Random(2026);
        set.setSeed(2026);
        SplittableRandom split = new SplittableRandom(), child = split.split(), seededSplit = new SplittableRandom(2026);
        SplittableRandom seededChild = seededSplit.split();
        RandomGenerator mix = RandomGenerator.of("L64X128MixRandom"), xoshiro = RandomGenerator.of("Xoshiro256PlusPlus");
        SecureRandom secure = SecureRandom.getInstance("SHA1PRNG"), seededSecure = SecureRandom.getInstance("SHA1PRNG");
        seededSecure.setSeed(2026);
        secure.nextInt();
        Math.random();
        List<Integer> order = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            order.add(i);
        }
        Collections.shuffle(order);
        Collections.sort(order);
        ExecutorService other = Executors.newSingleThreadExecutor(task -> {
            Thread thread = new Thread(task, "other");
            thread.setDaemon(true);
            return thread;
        });
        ThreadLocalRandom.current().nextLong();
        other.submit(() -> ThreadLocalRandom.current().nextLong()).get();

        for (Object one : new Object[] {plain, split, child, mix, xoshiro}) {
            copy(one.getClass(), one);
        }
        copy(Random.class, staticOf("java.lang.Math$RandomNumberGeneratorHolder", "randomNumberGenerator"));
        copy(Random.class, staticOf("java.util.Collections", "r"));
        ((AtomicLong) staticOf("java.util.SplittableRandom", "defaultGen")).set(7);
        ((AtomicLong) staticOf("java.util.concurrent.ThreadLocalRandom", "seeder")).set(7);
        ((AtomicLong) staticOf("jdk.random.L64X128MixRandom", "defaultGen")).set(7);
        copySecure(secure);
        SecureRandom wellspring = named("Wellspring", new Seedable());
        copy(Random.class, secure);
        copy(Random.class, wellspring);
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            Field seed = Thread.class.getDeclaredField("threadLocalRandomSeed");
            seed.setAccessible(true);
            seed.setLong(thread, 7);
        }

        if (words[1].equals("guarded")) {
            waitForGuard(words[0]);
        }

        Map<String, Object> values = new LinkedHashMap<>();
        values.put("Random", plain.nextLong());
        values.put("nextGaussian", plain.nextGaussian());
        values.put("Math.random", Math.random());
        Collections.shuffle(order);
        values.put("shuffle", order.subList(0, 5));
        values.put("ThreadLocalRandom", ThreadLocalRandom.current().nextLong());
        values.put("another thread", other.submit(() -> ThreadLocalRandom.current().nextLong()).get());
        long[] fromNew = new long[1];
        Thread fresh = new Thread(() -> fromNew[0] = ThreadLocalRandom.current().nextLong());
        fresh.start();
        fresh.join();
        values.put("a new thread", fromNew[0]);
        values.put("SplittableRandom", split.nextLong());
        values.put("its child", child.nextLong());
        values.put("new SplittableRandom", new SplittableRandom().nextLong());
        values.put("L64X128MixRandom", mix.nextLong());
        values.put("new L64X128MixRandom", RandomGenerator.of("L64X128MixRandom").nextLong());
        values.put("Xoshiro256PlusPlus", xoshiro.nextLong());
        values.put("SHA1PRNG", secure.nextLong());
        values.put("SHA1PRNG nextGaussian", secure.nextGaussian());
        values.put("Wellspring nextGaussian", wellspring.nextGaussian());
        values.put("kept Random", seeded.nextLong());
        values.put("kept setSeed", set.nextLong());
        values.put("kept SplittableRandom", seededSplit.nextLong());
        values.put("kept child", seededChild.nextLong());
        values.put("kept SHA1PRNG", seededSecure.nextLong());
        List<String> texts = new ArrayList<>();
        values.forEach((name, value) -> texts.add("\"" + name + "\": \"" + value + "\""));
        System.out.println("{" + String.join(", ", texts) + "}");
    }

    /** Sets the fields that are a generator's state, so that they are the same in each run. */
    private static void copy(Class<?> type, Object generator) throws Exception {
        for (Field field : type.getDeclaredFields()) {
            if (Modifier.isStatic(field.getModifiers())) {
                continue;
            }
            field.setAccessible(true);
            if (field.get(generator) instanceof AtomicLong seed) {
                seed.set(7);
            } else if (field.getType() == long.class) {
                field.setLong(generator, 7);
            } else if (field.getName().equals("haveNextNextGaussian")) {
                // The second of a pair of normal numbers waits for its call.
                field.setBoolean(generator, true);
            } else if (field.getType() == double.class) {
                field.setDouble(generator, 0.5);
            }
        }
    }

    private static void copySecure(SecureRandom secure) throws Exception {
        Field kind = SecureRandom.class.getDeclaredField("secureRandomSpi");
        kind.setAccessible(true);
        Object spi = kind.get(secure);
        Field state = spi.getClass().getDeclaredField("state"), count = spi.getClass().getDeclaredField("remCount");
        state.setAccessible(true);
        count.setAccessible(true);
        Arrays.fill((byte[]) state.get(spi), (byte) 7);
        count.setInt(spi, 0);
    }

    private static Object staticOf(String type, String name) throws Exception {
        Field field = Class.forName(type).getDeclaredField(name);
        field.setAccessible(true);
        return field.get(null);
    }

    /** Knows whether it got a seed. */
    private static final class Seedable extends SecureRandomSpi {
        private volatile boolean hasSeed;

        @Override
        protected void engineSetSeed(byte[] seed) {
            hasSeed = true;
        }

        @Override
        protected void engineNextBytes(byte[] bytes) {
            System.arraycopy(java.util.UUID.randomUUID().toString().getBytes(), 0, bytes, 0, bytes.length);
        }

        @Override
        protected byte[] engineGenerateSeed(int length) {
            return new byte[length];
        }
    }

    /** A generator of a provider of this name. */
    private static SecureRandom named(String name, SecureRandomSpi generator) throws NoSuchAlgorithmException {
        class Named extends Provider {
            Named() {
                super(name, "1", "");
                putService(new Provider.Service(this, "SecureRandom", name, "", null, null) {
                    @Override
                    public Object newInstance(Object parameter) {
                        return generator;
                    }
                });
            }
        }
        return SecureRandom.getInstance(name, new Named());
    }

    /** Changes the page, and waits until the guard has done its work. Without a guard the class is not found. */
    private static void waitForGuard(String page) throws Exception {
        var status = Class.forName("wellspring.CloneGuard").getMethod("status");
        try (RandomAccessFile file = new RandomAccessFile(page, "rw")) {
            file.seek(104);
            file.writeLong(System.nanoTime());
        }
        long until = System.nanoTime() + 300_000_000_000L;
        while (((double[]) status.invoke(null))[0] == 0) {
            if (System.nanoTime() > until) {
                throw new IllegalStateException("no notice");
            }
            Thread.sleep(1);
        }
    }
}
