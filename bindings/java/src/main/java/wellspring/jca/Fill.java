package wellspring.jca;

import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * Fills part of an array, on Java before 22. {@code src/main/java22} has the class for later ones, which needs no Unsafe.
 *
 * <p>JNI takes 18 ns to reach an array. Up to 32 bytes come by way of memory of the thread, whose address the library returns. A
 * virtual thread does not leave its native thread in between, since it waits for nothing.
 */
final class Fill {
    /** As in {@code src/main/rust/lib.rs}. */
    private static final int SHORT_BYTES = 32;

    /** Null in a program without the module {@code jdk.unsupported}, such as keytool: there JNI copies short reads too. */
    private static final Unsafe UNSAFE = find();

    private Fill() {}

    private static Unsafe find() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException | NoClassDefFoundError none) {
            return null;
        }
    }

    /** The caller has checked the range. */
    static int fill(byte[] bytes, int offset, int length) {
        boolean isShort = length <= SHORT_BYTES && UNSAFE != null;
        return isShort ? take(bytes, offset, length) : Native.fill(bytes, offset, length);
    }

    /** Takes bytes out of the thread's memory, and wipes them there. */
    private static int take(byte[] bytes, int offset, int length) {
        long from = Native.draw(length);
        if (from < 0) {
            return (int) -from;
        }
        long to = Unsafe.ARRAY_BYTE_BASE_OFFSET + (long) offset;
        int at = 0;
        for (; at + 8 <= length; at += 8) {
            UNSAFE.putLong(bytes, to + at, UNSAFE.getLong(from + at));
            UNSAFE.putLong(from + at, 0);
        }
        for (; at < length; at++) {
            UNSAFE.putByte(bytes, to + at, UNSAFE.getByte(from + at));
            UNSAFE.putByte(from + at, (byte) 0);
        }
        return 0;
    }
}
