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
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.ProviderException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * The file of the native library. A JVM loads libraries from files alone. So the library in the jar is written to a folder that
 * only this user can enter, read back, compared with its hash, loaded and removed.
 *
 * <p>Nothing here may use a {@code SecureRandom}, as {@code Files.createTempDirectory} does: another thread may be looking for
 * one, and the two would wait for each other.
 */
final class LibraryFile {
    /** The system property with the path of a library to load in place of the one in the jar. */
    private static final String PROPERTY = "wellspring.library";

    /** Bytes of a name that cannot be guessed: other users can make folders beside ours, and would take the names before. */
    private static final int NAME_BYTES = 16;

    private static final int TRIES = 100;
    private static final int WRITABLE_BY_OTHERS = 0022;
    private static final int STICKY = 01000;

    /** The mode of folder and file, whatever the mask of this process says. */
    private static final Set<PosixFilePermission> OURS = PosixFilePermissions.fromString("rwx------");

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
            throw new ProviderException("wellspring: the native library cannot be loaded: " + error.getMessage(), error);
        }
    }

    private static void loadFromJar() throws IOException, GeneralSecurityException {
        String machine = System.getProperty("os.arch").replace("amd64", "x86_64");
        String name = System.getProperty("os.name").toLowerCase() + "-" + machine + "/libwellspring_java.so";
        byte[] library = resource(name);
        String hash = new String(resource(name + ".sha256"), StandardCharsets.US_ASCII).strip();
        List<Exception> failures = new ArrayList<>();
        for (String folder : new String[] {System.getenv("XDG_RUNTIME_DIR"), System.getProperty("java.io.tmpdir")}) {
            try {
                if (folder != null && !folder.isEmpty()) {
                    loadFrom(newFolder(Path.of(folder).toRealPath()), library, hash);
                    return;
                }
            } catch (IOException | InvalidPathException error) {
                // A full or read-only file system, or a name that is not of this locale.
                failures.add(error);
            } catch (UnsatisfiedLinkError error) {
                // A file system whose files cannot be executed, or another C library.
                failures.add(new IOException(error.getMessage()));
            }
        }
        throw new IOException("no folder takes it " + failures + "; name a file by -D" + PROPERTY);
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
            Files.setPosixFilePermissions(file, OURS);
            byte[] written = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(file));
            if (!String.format("%064x", new BigInteger(1, written)).equals(hash)) {
                throw new GeneralSecurityException("the library has another hash than the one in the jar");
            }
            System.load(file.toString());
        } finally {
            remove(file);
            remove(folder);
        }
    }

    /** A file system of the network keeps a file that is in use, and its folder: the library serves all the same. */
    private static void remove(Path path) {
        try {
            Files.deleteIfExists(path);
        } catch (IOException left) {
            // No other user can enter the folder.
        }
    }

    /** Makes a folder that only this user can enter. No other user can rename it in its parent. */
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
        FileAttribute<?> ours = PosixFilePermissions.asFileAttribute(OURS);
        for (int tries = 1; ; tries++) {
            try {
                Path folder = Files.createDirectory(parent.resolve("wellspring-" + randomName()), ours);
                return Files.setPosixFilePermissions(folder, OURS);
            } catch (FileAlreadyExistsException taken) {
                if (tries == TRIES) {
                    throw taken;
                }
            }
        }
    }

    private static String randomName() throws IOException {
        try (InputStream kernel = Files.newInputStream(Path.of("/dev/urandom"))) {
            return new BigInteger(1, kernel.readNBytes(NAME_BYTES)).toString(16);
        }
    }
}
