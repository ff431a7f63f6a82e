package wellspring.jca;

import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.ProviderException;

/**
 * The file of the native library. A JVM loads libraries from files alone, so the one in the jar is written to a folder that only
 * this user can enter, read back, compared with its hash, loaded and removed.
 *
 * <p>Nothing here may use a {@code SecureRandom}, as {@code Files.createTempDirectory} does: the JVM may be looking for one, and
 * a thread that waits for that one would wait for this one.
 */
final class LibraryFile {
    /** The system property with the path of a library to load in place of the one in the jar. */
    private static final String PROPERTY = "wellspring.library";

    private static final int TRIES = 100;
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final int STICKY = 01000;

    private LibraryFile() {}

    static void load() {
        try {
            String given = System.getProperty(PROPERTY);
            if (given != null) {
                System.load(given);
            } else {
                loadFromJar();
            }
        } catch (IOException | GeneralSecurityException | UnsatisfiedLinkError error) {
            throw new ProviderException("wellspring: the native library cannot be loaded", error);
        }
    }

    private static void loadFromJar() throws IOException, GeneralSecurityException {
        String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
        String name = System.getProperty("os.name").toLowerCase() + "-" + machine + "/libwellspring_java.so";
        byte[] library = resource(name);
        String hash = new String(resource(name + ".sha256"), StandardCharsets.US_ASCII).strip();
        IOException failure = new IOException("no folder takes it; name a file by -D" + PROPERTY);
        for (String folder : new String[] {System.getenv("XDG_RUNTIME_DIR"), System.getProperty("java.io.tmpdir")}) {
            try {
                if (folder != null && !folder.isEmpty()) {
                    loadFrom(newFolder(Path.of(folder).toRealPath()), library, hash);
                    return;
                }
            } catch (IOException | InvalidPathException | UnsatisfiedLinkError error) {
                // A full or read-only file system, one whose files cannot be executed, or a name that is not of this locale.
                failure.addSuppressed(error);
            }
        }
        throw failure;
    }

    private static byte[] resource(String name) throws IOException {
        try (InputStream stream = LibraryFile.class.getResourceAsStream(name)) {
            if (stream == null) {
                throw new IOException("the jar has no " + name);
            }
            return stream.readAllBytes();
        }
    }

    private static void loadFrom(Path folder, byte[] library, String hash) throws IOException, GeneralSecurityException {
        Path file = folder.resolve("libwellspring_java.so");
        try {
            Files.write(file, library, StandardOpenOption.CREATE_NEW);
            byte[] written = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
            if (!String.format("%064x", new BigInteger(1, written)).equals(hash)) {
                throw new GeneralSecurityException("the library has another hash than the one in the jar");
            }
            System.load(file.toString());
        } finally {
            Files.deleteIfExists(file);
            Files.delete(folder);
        }
    }

    /** Makes a folder that only this user can enter, in one that no other user can rename it in. */
    private static Path newFolder(Path parent) throws IOException {
        Object user = Files.getAttribute(Path.of("/proc/self"), "unix:uid");
        for (Path each = parent; each != null; each = each.getParent()) {
            Object owner = Files.getAttribute(each, "unix:uid");
            int mode = (Integer) Files.getAttribute(each, "unix:mode");
            boolean isOurs = owner.equals(user) || owner.equals(0);
            if (!isOurs || (mode & WRITABLE_BY_OTHERS) != 0 && (mode & STICKY) == 0) {
                throw new IOException("other users can replace files in " + each);
            }
        }
        FileAttribute<?> ours = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
        String name = "wellspring-" + ProcessHandle.current().pid() + "-";
        for (int number = 0; ; number++) {
            try {
                return Files.createDirectory(parent.resolve(name + number), ours);
            } catch (FileAlreadyExistsException taken) {
                if (number == TRIES) {
                    throw taken;
                }
            }
        }
    }
}
