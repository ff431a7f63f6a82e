package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What needs a JVM of its own: ways to install the provider, ways in which the library is found, JNI checks, memory. */
class InstallTest {
    private static final String LIBRARY = "wellspring/jca/linux-"
            + System.getProperty("os.arch").replace("amd64", "x86_64") + "/libwellspring_java.so";

    /** The options without which Java 24 and later warn. The second is for the classes of older versions. */
    private static List<String> options(String... more) {
        List<String> options = new ArrayList<>(List.of(more));
        if (Runtime.version().feature() >= 24) {
            options.addAll(List.of("--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"));
        }
        return options;
    }

    private static void assertWellspring(String output) {
        assertTrue(output.matches("Wellspring Wellspring [-0-9a-f]{36}\n"), output);
    }

    /** java.security as README.md tells users to write it, from the list of this JDK. */
    private static Path securityFile(Path folder) throws Exception {
        List<String> lines = new ArrayList<>(List.of("security.provider.1=Wellspring"));
        Path original = Path.of(System.getProperty("java.home"), "conf", "security", "java.security");
        int number = 2;
        for (String line : Files.readAllLines(original)) {
            if (line.matches("security\\.provider\\.\\d+=.*")) {
                lines.add("security.provider." + number++ + "=" + line.split("=", 2)[1]);
            }
        }
        assertTrue(number > 5, original.toString());
        return Files.write(folder.resolve("wellspring.security"), lines);
    }

    @Test
    void installedByCode() throws Exception {
        assertWellspring(Program.succeeds(Program.java(options(), "code")));
    }

    @Test
    void installedByAFileThatAPropertyNames(@TempDir Path folder) throws Exception {
        String property = "-Djava.security.properties=" + securityFile(folder);
        assertWellspring(Program.succeeds(Program.java(options(property), "many")));
    }

    @Test
    void installedAsAnAgent() throws Exception {
        assertWellspring(Program.succeeds(Program.java(options("-javaagent:" + Program.JAR))));
    }

    @Test
    void installedAsAModule(@TempDir Path folder) throws Exception {
        List<String> options = options("-Djava.security.properties=" + securityFile(folder));
        options.replaceAll(option -> option.replace("ALL-UNNAMED", "wellspring.jca"));
        options.addAll(List.of("--module-path", Program.JAR, "--add-modules", "wellspring.jca"));
        ProcessBuilder command = Program.java(options);
        command.command().replaceAll(word -> word.replace(Program.JAR + ":", ""));
        assertWellspring(Program.succeeds(command));
    }

    @Test
    void theJvmsOwnChecksOfJniFindNothing() throws Exception {
        // Without the newer versions of classes all calls go by JNI.
        List<String> options = options("-Xcheck:jni", "-Djdk.util.jar.enableMultiRelease=false");
        assertWellspring(Program.succeeds(Program.java(options, "code", "many")));
        assertWellspring(Program.succeeds(Program.java(options("-Xcheck:jni"), "code", "many")));
    }

    @Test
    void bytesThatTheProgramWipedAreNowhereInMemory() throws Exception {
        for (String versions : List.of("true", "false")) {
            // A small heap, and no collection that would move the arrays.
            List<String> options = options("-Xmx64m", "-XX:+UseSerialGC", "-Djdk.util.jar.enableMultiRelease=" + versions);
            // Four reads.
            String kept = Program.succeeds(Program.java(options, "code", "search-kept"));
            assertTrue(kept.startsWith("4\n"), kept);
            String wiped = Program.succeeds(Program.java(options, "code", "search-wiped"));
            assertTrue(wiped.startsWith("0\n"), wiped);
        }
    }

    @Test
    void processesAtTheSameTimeDrawOtherBytesAndLeaveNoFile(@TempDir Path folder) throws Exception {
        List<String> options = options("-Djava.io.tmpdir=" + folder);
        List<Process> processes = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            ProcessBuilder command = Program.java(options, "code");
            command.environment().remove("XDG_RUNTIME_DIR");
            processes.add(command.start());
        }
        List<String> outputs = new ArrayList<>();
        for (Process process : processes) {
            outputs.add(new String(process.getInputStream().readAllBytes()));
        }
        outputs.forEach(InstallTest::assertWellspring);
        assertEquals(4, outputs.stream().distinct().count());
        try (var files = Files.list(folder)) {
            // The JVM's own hsperfdata, if any.
            assertFalse(files.anyMatch(file -> file.getFileName().toString().startsWith("wellspring")));
        }
    }

    @Test
    void namesThatOthersTookBeforeDoNotKeepTheLibraryFromLoading(@TempDir Path folder) throws Exception {
        ProcessBuilder command = Program.java(options("-Djava.io.tmpdir=" + folder), "code");
        command.environment().remove("XDG_RUNTIME_DIR");
        // The shell knows the number that the process will have, and takes every name that is made of it and of a counter.
        String shell = "n=0; while [ $n -le 200 ]; do mkdir \"$0/wellspring-$$-$n\"; n=$((n + 1)); done; exec \"$@\"";
        command.command().addAll(0, List.of("sh", "-c", shell, folder.toString()));
        assertWellspring(Program.succeeds(command));
    }

    @Test
    void theFolderOfTheLibraryIsOurOwnAndItsNameIsNoNumberOfAProcess(@TempDir Path folder) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/strace")), "SKIPPED: strace is not installed");
        ProcessBuilder command = Program.java(options("-Djava.io.tmpdir=" + folder), "code");
        command.environment().remove("XDG_RUNTIME_DIR");
        Path log = folder.resolve("log");
        command.command().addAll(0, List.of("strace", "-f", "-e", "trace=mkdir", "-o", log.toString()));
        assertWellspring(Program.succeeds(command));
        String calls = Files.readString(log);
        assertTrue(calls.matches("(?s).*mkdir\\(\"[^\"]*/wellspring-[0-9a-f]{20,32}\", 0700\\).*"), calls);
    }

    /** Without the right to pass over modes, which root has. */
    @Test
    void theLibraryIsLoadedWhateverTheMaskOfTheProcess(@TempDir Path folder) throws Exception {
        String shell = "umask $0; [ $(id -u) = 0 ] || exec \"$@\"; exec setpriv --inh-caps=-all --bounding-set=-all \"$@\"";
        Process probe = new ProcessBuilder("sh", "-c", shell, "0277", "true").start();
        assumeTrue(probe.waitFor() == 0, "SKIPPED: root cannot give up its capabilities");
        for (String mask : List.of("0277", "0777")) {
            ProcessBuilder command = Program.java(options("-Djava.io.tmpdir=" + folder), "code");
            command.environment().remove("XDG_RUNTIME_DIR");
            command.command().addAll(0, List.of("sh", "-c", shell, mask));
            assertWellspring(Program.succeeds(command));
        }
    }

    /** A folder whose files cannot be executed: the JVM in a mount namespace of its own. */
    private static List<String> withoutExecution(Path folder) {
        String shell = "mount -t tmpfs -o noexec none \"$0\" && exec \"$@\"";
        return List.of("unshare", "--mount", "--map-root-user", "sh", "-c", shell, folder.toString());
    }

    @Test
    void anAgentThatCannotLoadItsLibraryWarnsInOneLineUnlessItIsRequired(@TempDir Path folder) throws Exception {
        Process probe = new ProcessBuilder(withoutExecution(folder)).start();
        // No words after the folder: exec does nothing.
        assumeTrue(probe.waitFor() == 0, "SKIPPED: no mount namespaces");
        for (String word : List.of("", "=required")) {
            ProcessBuilder command = Program.java(options("-javaagent:" + Program.JAR + word, "-Djava.io.tmpdir=" + folder));
            command.environment().remove("XDG_RUNTIME_DIR");
            command.command().addAll(0, withoutExecution(folder));
            if (word.isEmpty()) {
                String output = Program.succeeds(command);
                String line = "wellspring: the provider cannot be installed: [^\n]*; the JDK's own generator serves\n";
                assertTrue(output.matches(line + "NativePRNG SUN [-0-9a-f]{36}\n"), output);
            } else {
                Process process = command.redirectErrorStream(true).start();
                String output = new String(process.getInputStream().readAllBytes());
                assertNotEquals(0, process.waitFor());
                assertTrue(output.contains("the native library cannot be loaded: "), output);
            }
        }
    }

    @Test
    void aMisspelledWordOfTheAgentKeepsTheProgramFromStarting() throws Exception {
        ProcessBuilder command = Program.java(options("-javaagent:" + Program.JAR + "=reqired"));
        Process process = command.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes());
        assertNotEquals(0, process.waitFor());
        assertTrue(output.contains("the agent takes the word 'required' or none, not 'reqired'"), output);
    }

    @Test
    void theAgentCanBeLoadedByJava8AndSaysThatTheProviderCannot(@TempDir Path folder) throws Exception {
        Path jar = Files.copy(Path.of(Program.JAR), folder.resolve("changed.jar"));
        try (var inside = FileSystems.newFileSystem(jar, (ClassLoader) null)) {
            byte[] agent = Files.readAllBytes(inside.getPath("wellspring/jca/Agent.class"));
            assertEquals(52, agent[7], "the version of the class file");
            // To this JVM the provider is of a later Java, as it is to Java 8.
            Path provider = inside.getPath("wellspring/jca/WellspringProvider.class");
            byte[] changed = Files.readAllBytes(provider);
            changed[7] = 127;
            Files.write(provider, changed);
        }
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String output = Program.succeeds(new ProcessBuilder(java, "-javaagent:" + jar, "-version"));
        assertEquals(1, output.lines().filter(line -> line.contains("wellspring")).count(), output);
        assertTrue(output.matches("(?s)(.*\n)?wellspring: the provider cannot be installed: .*"), output);
    }

    @Test
    void noFileIsWrittenWhereOthersCanReplaceIt(@TempDir Path folder) throws Exception {
        Path open = Files.createDirectories(folder.resolve("open/inner")).getParent();
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxrwxrwx"));
        for (Path each : List.of(open, open.resolve("inner"))) {
            ProcessBuilder command = Program.java(options("-Djava.io.tmpdir=" + each), "code");
            command.environment().put("XDG_RUNTIME_DIR", each.toString());
            String output = Program.succeeds(command);
            assertTrue(output.contains("other users can replace files in " + open), output);
            // The program goes on with the JDK's generator.
            assertTrue(output.contains("\nNativePRNG SUN "), output);
        }
    }

    @Test
    void aFolderWhoseNameIsNotOfTheLocaleIsPassedOver() throws Exception {
        ProcessBuilder command = Program.java(options(), "code");
        String shell = "XDG_RUNTIME_DIR=/tmp/$(printf '\\303\\274') LC_ALL=C exec \"$@\"";
        command.command().addAll(0, List.of("sh", "-c", shell, "sh"));
        assertWellspring(Program.succeeds(command));
    }

    @Test
    void aLibraryIsFoundByAPropertyAndAWrongOneIsRefused(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("library.so");
        Files.write(file, library());
        // No other place would do.
        String[] nowhere = {"-Djava.io.tmpdir=/proc", "-Dwellspring.library=" + file};
        ProcessBuilder command = Program.java(options(nowhere), "code");
        command.environment().remove("XDG_RUNTIME_DIR");
        assertWellspring(Program.succeeds(command));
        Files.write(file, new byte[100]);
        String output = Program.succeeds(Program.java(options(nowhere), "code"));
        assertTrue(output.contains("wellspring: the native library cannot be loaded: "), output);
    }

    @Test
    void aLibraryWithAnotherHashIsRefused(@TempDir Path folder) throws Exception {
        Path jar = Files.copy(Path.of(Program.JAR), folder.resolve("changed.jar"));
        try (var inside = FileSystems.newFileSystem(jar, (ClassLoader) null)) {
            byte[] library = library();
            library[library.length - 1] ^= 1;
            Files.write(inside.getPath(LIBRARY), library);
        }
        ProcessBuilder command = Program.java(options(), "code");
        command.command().replaceAll(word -> word.replace(Program.JAR, jar.toString()));
        String output = Program.succeeds(command);
        assertTrue(output.contains("another hash"), output);
        assertTrue(output.contains("NativePRNG SUN"), output);
    }

    @Test
    void afterAPreparationNoReadMakesASystemCall(@TempDir Path folder) throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/cc")), "SKIPPED: cc is not installed");
        Path library = folder.resolve("forbid.so");
        Program.succeeds(new ProcessBuilder("cc", "-shared", "-fPIC", "-o", library.toString(), "src/test/c/forbid.c"));
        String property = "-Dforbid=" + library;
        String output = Program.succeeds(Program.java(options(property), "code", "prepared"));
        assertTrue(output.startsWith("forbidden: 0\nWellspring Wellspring "), output);
        // Without the preparation the same reads end the process.
        Process process = Program.java(options(property, "-XX:-CreateCoredumpOnCrash"), "code", "forbidden").start();
        output = new String(process.getInputStream().readAllBytes());
        assertEquals("forbidden: 0\n", output);
        assertEquals(128 + 31, process.waitFor());
    }

    @Test
    void callsAreCountedForAReport(@TempDir Path folder) throws Exception {
        Path file = Files.write(folder.resolve("counters"), new byte[4096]);
        ProcessBuilder command = Program.java(options(), "code");
        command.environment().put("WELLSPRING_REPORT", file.toString());
        assertWellspring(Program.succeeds(command));
        ByteBuffer counters = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.nativeOrder());
        // interpose/common/src/door_counters.rs: calls, bytes and threads of the last door. The UUID is one call.
        assertEquals(List.of(1L, 16L, 1L), List.of(counters.getLong(288), counters.getLong(296), counters.getLong(304)));
    }

    @Test
    void theConfigurationForNativeImagesNamesTheLibrary() throws Exception {
        try (var jar = FileSystems.newFileSystem(Path.of(Program.JAR), (ClassLoader) null)) {
            String text = Files.readString(
                    jar.getPath("META-INF/native-image/wellspring/wellspring-java/resource-config.json"));
            String pattern = text.replaceAll("(?s).*\"pattern\": \"([^\"]*)\".*", "$1");
            assertTrue(LIBRARY.matches(pattern) && (LIBRARY + ".sha256").matches(pattern), pattern);
        }
    }

    private static byte[] library() throws Exception {
        try (var jar = FileSystems.newFileSystem(Path.of(Program.JAR), (ClassLoader) null)) {
            byte[] library = Files.readAllBytes(jar.getPath(LIBRARY));
            assertNotEquals(0, library.length);
            return library;
        }
    }
}
