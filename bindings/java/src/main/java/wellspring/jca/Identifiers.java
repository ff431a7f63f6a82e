package wellspring.jca;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.ProviderException;
import java.util.UUID;

/**
 * Identifiers: UUIDs of versions 4 and 7 (RFC 9562), ULIDs and trace ids.
 *
 * <p>UUIDs of version 7 and ULIDs begin with the time in milliseconds. Those of a native thread are in ascending order, by
 * {@code compareTo} too, also if the clock goes back; a virtual thread has the order of the threads that carry it. They show when
 * they were made, and are no secrets.
 *
 * <p>Every function throws {@link ProviderException} if the native library cannot be loaded.
 */
public final class Identifiers {
    /** The kinds, as {@code src/main/rust/lib.rs} numbers them. */
    private static final int UUID_4 = 0;

    private static final int UUID_7 = 1;
    private static final int ULID_TEXT = 2;
    private static final int TRACE_TEXT = 3;

    private static final int UUID_BYTES = 16;
    private static final int ULID_DIGITS = 26;

    private Identifiers() {}

    /**
     * A UUID of version 4: 122 random bits.
     *
     * @return the UUID
     */
    public static UUID uuid4() {
        return uuid(UUID_4);
    }

    /**
     * A UUID of version 7: the time, a counter, 56 random bits.
     *
     * @return the UUID
     */
    public static UUID uuid7() {
        return uuid(UUID_7);
    }

    /**
     * A ULID: the time, a counter, 62 random bits.
     *
     * @return its text of 26 characters, in upper case
     */
    public static String ulid() {
        return text(ULID_TEXT, ULID_DIGITS);
    }

    /**
     * A trace id: random bytes.
     *
     * @param bytes 16 or 32
     * @return two hexadecimal digits for each byte, in lower case
     * @throws IllegalArgumentException for another number of bytes
     */
    public static String traceId(int bytes) {
        if (bytes != 16 && bytes != 32) {
            throw new IllegalArgumentException("a trace id has 16 or 32 bytes, not " + bytes);
        }
        return text(TRACE_TEXT, 2 * bytes);
    }

    private static UUID uuid(int kind) {
        ByteBuffer halves = ByteBuffer.wrap(make(kind, UUID_BYTES));
        return new UUID(halves.getLong(), halves.getLong());
    }

    private static String text(int kind, int digits) {
        return new String(make(kind, digits), StandardCharsets.US_ASCII);
    }

    private static byte[] make(int kind, int length) {
        Native.load();
        byte[] made = new byte[length];
        Native.check(Native.identify(made, kind));
        return made;
    }
}
