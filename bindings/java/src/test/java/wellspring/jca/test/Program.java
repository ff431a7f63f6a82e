package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProviderException;
import java.security.SecureRandom;
import java.security.Security;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import wellspring.jca.WellspringProvider;

/** A program that the tests run in JVMs of their own, and how they run it. */
final class Program {
    /** The jar under test. */
    static final String JAR = System.getProperty("wellspring.jar");

    private static final String CLASSES =
            Path.of(URI.create(Program.class.getProtectionDomain().getCodeSource().getLocation().toString())).toString();

    private Program() {}

    /**
     * Prints the default generator and a UUID. With the word {@code code} it installs the provider before, with {@code many} it
     * reads all sizes from many threads, and with {@code search-..} it searches its memory. With {@code forbidden} it forbids
     * getrandom before it reads, with {@code prepared} too, and says so to the generator before.
     */
    public static void main(String[] words) throws Exception {
        if (List.of(words).contains("code")) {
            try {
                Security.insertProviderAt(new WellspringProvider(), 1);
            } catch (ProviderException error) {
                System.out.println(error.getMessage());
            }
        }
        SecureRandom random = new SecureRandom();
        if (List.of(words).contains("many")) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                Thread thread = new Thread(() -> {
                    for (int size = 0; size < 5000; size += 7) {
                        random.nextBytes(new byte[size]);
                    }
                    random.nextBytes(new byte[1 << 20]);
                    random.setSeed(new byte[10_000]);
                    random.reseed();
                });
                threads.add(thread);
                thread.start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        if (List.of(words).contains("prepared") || List.of(words).contains("forbidden")) {
            System.load(System.getProperty("forbid"));
            if (List.of(words).contains("prepared")) {
                WellspringProvider.prepareForSandbox();
            }
            System.out.println("forbidden: " + forbid());
            WellspringProvider.mix(new byte[5000]);
            for (int i = 0; i < 100; i++) {
                random.nextBytes(new byte[1 << 16]);
                WellspringProvider.divergeFromClones();
            }
        }
        for (String word : words) {
            if (word.startsWith("search-")) {
                System.out.println(Residue.found(random, word.endsWith("-kept"), 16, 32, 500, 4000));
            }
        }
        System.out.println(random.getAlgorithm() + " " + random.getProvider().getName() + " " + UUID.randomUUID());
    }

    /** {@code src/test/c/forbid.c}. */
    private static native int forbid();

    /** A JVM with options, to which a class path and {@code main} are added. */
    static ProcessBuilder java(List<String> options, String... words) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(options);
        command.addAll(List.of("-cp", JAR + ":" + CLASSES, Program.class.getName()));
        command.addAll(List.of(words));
        return new ProcessBuilder(command);
    }

    /** Runs a command of at most two minutes. Returns all that it printed. */
    static String succeeds(ProcessBuilder command) throws Exception {
        Path output = Files.createTempFile("output", ".txt");
        try {
            Process process = command.redirectErrorStream(true).redirectOutput(output.toFile()).start();
            boolean hasEnded = process.waitFor(2, TimeUnit.MINUTES);
            process.destroyForcibly();
            String text = Files.readString(output, StandardCharsets.UTF_8);
            assertTrue(hasEnded, command.command() + ": " + text);
            assertEquals(0, process.exitValue(), command.command() + ": " + text);
            return text;
        } finally {
            Files.delete(output);
        }
    }
}
