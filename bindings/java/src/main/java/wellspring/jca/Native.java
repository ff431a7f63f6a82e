package wellspring.jca;

import java.security.ProviderException;

/** The functions of the native library, {@code src/main/rust/lib.rs}. */
final class Native {
    private static volatile boolean isLoaded;

    private Native() {}

    /**
     * Loads the library, and waits until the generator is seeded. The other functions need it before.
     *
     * @throws ProviderException if there is no library for this system, or if it cannot be loaded
     */
    static void load() {
        if (!isLoaded) {
            loadFirst();
        }
    }

    private static synchronized void loadFirst() {
        if (!isLoaded) {
            LibraryFile.load();
            check(start());
            isLoaded = true;
        }
    }

    /** Throws the exception of an error number. */
    static void check(int error) {
        if (error != 0) {
            throw new ProviderException(message(error));
        }
    }

    private static String message(int error) {
        switch (error) {
            case 1:
                return "wellspring: the sources have yielded less noise than a reseed needs";
            case 2:
                return "wellspring: out of memory";
            default:
                return "wellspring: an error of the engine";
        }
    }

    private static native int start();

    static native int fill(byte[] bytes, int offset, int length);

    /** Puts up to 32 bytes into memory of this thread. Returns its address, or the negative of an error number. */
    static native long draw(int length);

    /** Fills {@code made} with an identifier of a kind, which {@link Identifiers} numbers. */
    static native int identify(byte[] made, int kind);

    static native int mix(byte[] data);

    static native int reseed();

    static native long diverge();

    static native int prepare();
}
