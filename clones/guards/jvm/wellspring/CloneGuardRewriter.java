package wellspring;

import java.lang.instrument.ClassFileTransformer;
import java.security.ProtectionDomain;
import jdk.internal.org.objectweb.asm.ClassReader;
import jdk.internal.org.objectweb.asm.ClassVisitor;
import jdk.internal.org.objectweb.asm.ClassWriter;
import jdk.internal.org.objectweb.asm.MethodVisitor;
import jdk.internal.org.objectweb.asm.Opcodes;

/** Makes constructors without a seed, and setSeed, report to {@link CloneGuard}. Methods that draw stay as they are. */
final class CloneGuardRewriter implements ClassFileTransformer {
    private static final int API = Opcodes.ASM8;
    private static final String GUARD = "wellspring/CloneGuard";

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] file) {
        boolean isGenerator = "java/util/Random".equals(name)
                || "java/util/SplittableRandom".equals(name)
                || "java/security/SecureRandom".equals(name)
                || name != null && name.startsWith("jdk/random/");
        if (!isGenerator) {
            return null;
        }
        ClassReader reader = new ClassReader(file);
        ClassWriter writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        reader.accept(new Generator(writer, name), 0);
        return writer.toByteArray();
    }

    private static final class Generator extends ClassVisitor {
        private final String type;

        Generator(ClassVisitor next, String type) {
            super(API, next);
            this.type = type;
        }

        @Override
        public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] errors) {
            MethodVisitor next = super.visitMethod(access, name, descriptor, signature, errors);
            // No constructor of SecureRandom makes a generator that repeats: what its kind is, says the kind.
            boolean hasNoSeed = descriptor.equals("()V") || type.equals("java/security/SecureRandom");
            if (name.equals("<init>") && hasNoSeed) {
                return new AtReturn(next, Opcodes.RETURN, "note");
            }
            if (name.equals("setSeed")) {
                return new AtStart(next);
            }
            if (name.equals("split") && (access & Opcodes.ACC_STATIC) == 0 && (access & Opcodes.ACC_BRIDGE) == 0) {
                return new AtReturn(next, Opcodes.ARETURN, "noteChild");
            }
            return next;
        }
    }

    private static final class AtStart extends MethodVisitor {
        AtStart(MethodVisitor next) {
            super(API, next);
        }

        @Override
        public void visitCode() {
            super.visitCode();
            visitVarInsn(Opcodes.ALOAD, 0);
            visitMethodInsn(Opcodes.INVOKESTATIC, GUARD, "forget", "(Ljava/lang/Object;)V", false);
        }
    }

    private static final class AtReturn extends MethodVisitor {
        private final int end;
        private final String target;

        AtReturn(MethodVisitor next, int end, String target) {
            super(API, next);
            this.end = end;
            this.target = target;
        }

        @Override
        public void visitInsn(int opcode) {
            if (opcode == end && target.equals("note")) {
                visitVarInsn(Opcodes.ALOAD, 0);
                visitMethodInsn(Opcodes.INVOKESTATIC, GUARD, target, "(Ljava/lang/Object;)V", false);
            } else if (opcode == end) {
                super.visitInsn(Opcodes.DUP);
                visitVarInsn(Opcodes.ALOAD, 0);
                String both = "(Ljava/lang/Object;Ljava/lang/Object;)V";
                visitMethodInsn(Opcodes.INVOKESTATIC, GUARD, target, both, false);
            }
            super.visitInsn(opcode);
        }
    }
}
