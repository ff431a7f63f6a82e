package wellspring.jca.test;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.SecureRandom;
import java.security.Security;
import java.security.Signature;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import javax.crypto.Cipher;
import javax.crypto.KeyGenerator;
import javax.crypto.Mac;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import org.apache.catalina.util.StandardSessionIdGenerator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import wellspring.jca.WellspringProvider;

/** What programs do with a SecureRandom, with this one as the default of the process. */
class RealUseTest {
    private static final char[] PASSWORD = "password".toCharArray();

    @BeforeAll
    static void install() {
        WellspringProvider.install();
    }

    @Test
    void itIsTheDefaultAndCanBeTheStrongOne() throws Exception {
        assertEquals("Wellspring", new SecureRandom().getAlgorithm());
        String before = Security.getProperty("securerandom.strongAlgorithms");
        Security.setProperty("securerandom.strongAlgorithms", "Wellspring:Wellspring");
        try {
            assertEquals("Wellspring", SecureRandom.getInstanceStrong().getAlgorithm());
        } finally {
            Security.setProperty("securerandom.strongAlgorithms", before);
        }
    }

    @Test
    void aMillionUuidsAreOfVersion4AndDiffer() {
        Set<UUID> seen = new HashSet<>(1 << 21);
        for (int i = 0; i < 1_000_000; i++) {
            UUID uuid = UUID.randomUUID();
            assertTrue(uuid.version() == 4 && uuid.variant() == 2);
            assertTrue(seen.add(uuid));
        }
    }

    @Test
    void keysSignAndEncrypt() throws Exception {
        byte[] text = "text".getBytes(StandardCharsets.UTF_8);
        KeyPairGenerator pairs = KeyPairGenerator.getInstance("EC");
        pairs.initialize(256, new SecureRandom());
        KeyPair pair = pairs.generateKeyPair();
        Signature signature = Signature.getInstance("SHA256withECDSA");
        signature.initSign(pair.getPrivate(), new SecureRandom());
        signature.update(text);
        byte[] signed = signature.sign();
        signature.initVerify(pair.getPublic());
        signature.update(text);
        assertTrue(signature.verify(signed));

        KeyGenerator keys = KeyGenerator.getInstance("AES");
        keys.init(256, new SecureRandom());
        SecretKey key = keys.generateKey();
        Cipher cipher = Cipher.getInstance("AES/GCM/NoPadding");
        cipher.init(Cipher.ENCRYPT_MODE, key, new SecureRandom());
        byte[] encrypted = cipher.doFinal(text);
        GCMParameterSpec nonce = cipher.getParameters().getParameterSpec(GCMParameterSpec.class);
        cipher.init(Cipher.DECRYPT_MODE, key, nonce);
        assertArrayEquals(text, cipher.doFinal(encrypted));
    }

    @Test
    void aWebTokenIsSignedAndVerified() throws Exception {
        SecretKey key = KeyGenerator.getInstance("HmacSHA256").generateKey();
        Base64.Encoder base64 = Base64.getUrlEncoder().withoutPadding();
        String header = base64.encodeToString("{\"alg\":\"HS256\"}".getBytes(StandardCharsets.UTF_8));
        String claims = "{\"jti\":\"" + UUID.randomUUID() + "\"}";
        String signed = header + "." + base64.encodeToString(claims.getBytes(StandardCharsets.UTF_8));
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(key);
        String token = signed + "." + base64.encodeToString(mac.doFinal(signed.getBytes(StandardCharsets.UTF_8)));
        String[] parts = token.split("\\.");
        mac.init(key);
        byte[] again = mac.doFinal((parts[0] + "." + parts[1]).getBytes(StandardCharsets.UTF_8));
        assertArrayEquals(again, Base64.getUrlDecoder().decode(parts[2]));
    }

    @Test
    void aKeystoreIsWrittenAndReadAndServesTls(@TempDir Path folder) throws Exception {
        KeyStore store = keystore(folder);
        KeyManagerFactory ours = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        ours.init(store, PASSWORD);
        TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusted.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        SecureRandom random = SecureRandom.getInstance("Wellspring");
        context.init(ours.getKeyManagers(), trusted.getTrustManagers(), random);

        byte[] message = random.generateSeed(100_000);
        var loopback = InetAddress.getLoopbackAddress();
        try (var server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 1, loopback)) {
            CompletableFuture<byte[]> received = CompletableFuture.supplyAsync(() -> {
                try (var peer = server.accept()) {
                    return peer.getInputStream().readAllBytes();
                } catch (IOException error) {
                    throw new java.io.UncheckedIOException(error);
                }
            });
            try (var client = (SSLSocket) context.getSocketFactory().createSocket(loopback, server.getLocalPort())) {
                client.getOutputStream().write(message);
                assertEquals("TLSv1.3", client.getSession().getProtocol());
            }
            assertArrayEquals(message, received.get(60, TimeUnit.SECONDS));
        }
    }

    /** A store that keytool makes with this provider, written once more by this process. */
    private static KeyStore keystore(Path folder) throws Exception {
        Path file = folder.resolve("store.p12");
        String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
        Program.succeeds(
                new ProcessBuilder(keytool, "-J-javaagent:" + Program.JAR, "-genkeypair", "-keyalg", "EC", "-alias", "one",
                        "-dname", "CN=localhost", "-storepass", "password", "-keystore", file.toString()));
        KeyStore store = KeyStore.getInstance(file.toFile(), PASSWORD);
        var key = (PrivateKey) store.getKey("one", PASSWORD);
        store.setKeyEntry("two", key, PASSWORD, store.getCertificateChain("one"));
        try (var stream = Files.newOutputStream(file)) {
            store.store(stream, PASSWORD);
        }
        KeyStore loaded = KeyStore.getInstance(file.toFile(), PASSWORD);
        assertEquals(key, loaded.getKey("two", PASSWORD));
        return loaded;
    }

    @Test
    void tomcatDrawsItsSessionIds() throws Exception {
        var generator = new StandardSessionIdGenerator();
        generator.setSecureRandomAlgorithm("Wellspring");
        generator.setSecureRandomProvider("Wellspring");
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < 10_000; i++) {
            String id = generator.generateSessionId();
            assertTrue(id.matches("[0-9A-F]{32}"), id);
            assertTrue(seen.add(id));
        }
    }
}
