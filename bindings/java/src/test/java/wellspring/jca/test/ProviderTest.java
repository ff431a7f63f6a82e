package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.ByteBuffer;
import java.security.DrbgParameters;
import java.security.DrbgParameters.Capability;
import java.security.NoSuchAlgorithmException;
import java.security.Provider;
import java.security.SecureRandom;
import java.security.SecureRandomParameters;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import wellspring.jca.WellspringProvider;

/** The provider as SecureRandom shows it. What the JDK's DRBG refuses is refused with the same exception. */
class ProviderTest {
    private static final Provider PROVIDER = new WellspringProvider();

    private interface Call {
        void with(SecureRandom random) throws Exception;
    }

    private static SecureRandom random() throws NoSuchAlgorithmException {
        return SecureRandom.getInstance("Wellspring", PROVIDER);
    }

    private static Class<?> outcome(Call call, SecureRandom random) {
        try {
            call.with(random);
            return null;
        } catch (Exception exception) {
            return exception.getClass();
        }
    }

    @Test
    void theProviderIsFoundByItsNameAndHasTheVersionOfThePackage() throws Exception {
        assertEquals("Wellspring", PROVIDER.getName());
        assertEquals(System.getProperty("wellspring.version"), PROVIDER.getVersionStr());
        assertEquals("Wellspring", random().getAlgorithm());
        assertEquals("Wellspring", random().toString());
        assertEquals("true", PROVIDER.getProperty("SecureRandom.Wellspring ThreadSafe"));
        assertThrows(NoSuchAlgorithmException.class, () -> SecureRandom.getInstance("SHA1PRNG", PROVIDER));
    }

    @Test
    void everyByteOfEveryLengthIsWrittenAndNoByteBesideIt() throws Exception {
        SecureRandom random = random();
        int[] large = {4095, 4096, 4097, 65535, 65536, 65537, 131073, (1 << 20) + 1};
        for (int i = -300; i < large.length; i++) {
            int length = i < 0 ? i + 300 : large[i];
            byte[] seen = new byte[length];
            // A byte that is never written stays 0; each other one is 0 in all 8 draws with a probability of 2^-64.
            for (int draw = 0; draw < 8; draw++) {
                byte[] bytes = new byte[length];
                random.nextBytes(bytes);
                for (int at = 0; at < length; at++) {
                    seen[at] |= bytes[at];
                }
            }
            for (byte each : seen) {
                assertNotEquals(0, each, "of " + length);
            }
        }
    }

    @Test
    void bytesOfLongReadsDoNotRepeatAtThePieces() throws Exception {
        byte[] bytes = new byte[1 << 20];
        random().nextBytes(bytes);
        long pieces = IntStream.range(0, bytes.length / 16)
                .mapToObj(i -> ByteBuffer.wrap(bytes, 16 * i, 16).slice())
                .distinct()
                .count();
        assertEquals(bytes.length / 16, pieces);
    }

    @Test
    void allValuesOfAByteComeEquallyOften() throws Exception {
        byte[] bytes = new byte[1 << 20];
        random().nextBytes(bytes);
        int[] counts = new int[256];
        for (byte each : bytes) {
            counts[each & 255]++;
        }
        // The mean is 4096 and the deviation 64: 8 deviations.
        assertTrue(Arrays.stream(counts).allMatch(count -> Math.abs(count - 4096) < 512), Arrays.toString(counts));
    }

    @Test
    void parametersAreThoseOfTheDrbgWith256Bits() throws Exception {
        var plain = (DrbgParameters.Instantiation) random().getParameters();
        assertEquals(256, plain.getStrength());
        assertEquals(Capability.PR_AND_RESEED, plain.getCapability());
        assertNull(plain.getPersonalizationString());
        byte[] name = {1, 2, 3};
        SecureRandomParameters asked = DrbgParameters.instantiation(128, Capability.NONE, name);
        SecureRandom random = SecureRandom.getInstance("Wellspring", asked, PROVIDER);
        var given = (DrbgParameters.Instantiation) random.getParameters();
        assertArrayEquals(name, given.getPersonalizationString());
        assertEquals(256, given.getStrength());
    }

    @Test
    void readsAndReseedsWithParametersReseedTheProcess() throws Exception {
        SecureRandom random = random();
        byte[] bytes = new byte[100];
        long before = WellspringProvider.divergeFromClones();
        random.nextBytes(bytes, DrbgParameters.nextBytes(256, true, new byte[5000]));
        random.nextBytes(bytes, DrbgParameters.nextBytes(-1, false, null));
        random.reseed();
        random.reseed(DrbgParameters.reseed(true, new byte[] {1}));
        random.setSeed(1);
        random.setSeed(new byte[100_000]);
        random.setSeed(new byte[0]);
        // A reseed each: by prediction resistance, two by their name, and the second separation.
        assertTrue(WellspringProvider.divergeFromClones() >= before + 4);
        assertFalse(Arrays.equals(bytes, new byte[100]));
    }

    @Test
    void aSeedAddsAndReplacesNothing() throws Exception {
        byte[][] draws = new byte[2][32];
        for (byte[] draw : draws) {
            SecureRandom random = random();
            random.setSeed(new byte[32]);
            random.nextBytes(draw);
        }
        assertFalse(Arrays.equals(draws[0], draws[1]));
    }

    @Test
    void generateSeedGivesSoManyBytes() throws Exception {
        assertEquals(0, random().generateSeed(0).length);
        byte[] seed = random().generateSeed(1000);
        assertEquals(1000, seed.length);
        assertFalse(Arrays.equals(seed, random().generateSeed(1000)));
    }

    @Test
    void wrongInputGetsTheExceptionsOfTheDrbg() throws Exception {
        SecureRandomParameters other = new SecureRandomParameters() {};
        List<Call> calls = List.of(
                random -> random.nextBytes(null),
                random -> random.nextBytes(null, DrbgParameters.nextBytes(-1, false, null)),
                random -> random.nextBytes(new byte[1], null),
                random -> random.nextBytes(new byte[1], other),
                random -> random.nextBytes(new byte[1], DrbgParameters.nextBytes(1000, false, null)),
                random -> random.reseed(null),
                random -> random.reseed(other),
                random -> random.setSeed(null),
                random -> random.generateSeed(-1),
                random -> random.nextInt(0),
                random -> SecureRandom.getInstance(random.getAlgorithm(), other, random.getProvider()),
                random -> SecureRandom.getInstance(
                        random.getAlgorithm(),
                        DrbgParameters.instantiation(1000, Capability.NONE, null),
                        random.getProvider()));
        SecureRandom drbg = SecureRandom.getInstance("DRBG");
        for (int i = 0; i < calls.size(); i++) {
            Class<?> wanted = outcome(calls.get(i), drbg);
            assertTrue(wanted != null, "DRBG took call " + i);
            assertEquals(wanted, outcome(calls.get(i), random()), "call " + i);
        }
    }

    @Test
    void aSavedGeneratorGoesOnWithOtherBytes() throws Exception {
        SecureRandom random = SecureRandom.getInstance(
                "Wellspring", DrbgParameters.instantiation(256, Capability.NONE, new byte[] {7}), PROVIDER);
        ByteArrayOutputStream saved = new ByteArrayOutputStream();
        try (var stream = new ObjectOutputStream(saved)) {
            stream.writeObject(random);
        }
        byte[][] draws = new byte[3][32];
        random.nextBytes(draws[2]);
        for (int copy = 0; copy < 2; copy++) {
            var stream = new ObjectInputStream(new ByteArrayInputStream(saved.toByteArray()));
            SecureRandom loaded = (SecureRandom) stream.readObject();
            assertEquals("Wellspring", loaded.getAlgorithm());
            assertEquals("Wellspring", loaded.getProvider().getName());
            var parameters = (DrbgParameters.Instantiation) loaded.getParameters();
            assertArrayEquals(new byte[] {7}, parameters.getPersonalizationString());
            loaded.nextBytes(draws[copy]);
        }
        assertEquals(3, Arrays.stream(draws).map(Arrays::toString).distinct().count());
    }

    @Test
    void aProgramCanMixAndReseedWithoutAGenerator() {
        long before = WellspringProvider.divergeFromClones();
        byte[] data = new byte[100_000];
        Arrays.fill(data, (byte) 7);
        byte[] kept = data.clone();
        WellspringProvider.mix(data);
        WellspringProvider.mix(new byte[0]);
        assertArrayEquals(kept, data);
        WellspringProvider.reseed();
        assertTrue(WellspringProvider.divergeFromClones() >= before + 2);
        assertThrows(NullPointerException.class, () -> WellspringProvider.mix(null));
    }
}
