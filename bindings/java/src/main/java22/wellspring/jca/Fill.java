package wellspring.jca;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;

/**
 * Fills part of an array in place. The call is critical: the JVM lets the library write into the array, and neither moves it nor
 * collects garbage until the library returns, so the library never waits.
 */
final class Fill {
    /** Null in a native image of GraalVM, where such calls need an option at its build: there JNI serves. */
    private static final MethodHandle FUNCTION =
            System.getProperty("org.graalvm.nativeimage.imagecode") == null ? find() : null;

    private Fill() {}

    @SuppressWarnings("restricted")
    private static MethodHandle find() {
        FunctionDescriptor type = FunctionDescriptor.of(JAVA_INT, ADDRESS, JAVA_INT, JAVA_INT);
        MemorySegment function = SymbolLookup.loaderLookup().find("wellspring_java_fill").orElseThrow();
        return Linker.nativeLinker().downcallHandle(function, type, Linker.Option.critical(true));
    }

    static int fill(byte[] bytes, int offset, int length) {
        if (FUNCTION == null) {
            return Native.fill(bytes, offset, length);
        }
        try {
            return (int) FUNCTION.invokeExact(MemorySegment.ofArray(bytes), offset, length);
        } catch (RuntimeException | Error error) {
            throw error;
        } catch (Throwable never) {
            throw new AssertionError(never);
        }
    }
}
