import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.Callback;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/**
 * Validates tokens as Amazon MSK does: each is the URL of a request, signed by AWS's version 4 with the secret key of
 * the environment.
 */
public final class Iam implements AuthenticateCallbackHandler {
    private static final String KEY = System.getenv("AWS_ACCESS_KEY_ID");
    private static final String SECRET = System.getenv("AWS_SECRET_ACCESS_KEY");
    private static final Set<String> UNSIGNED = Set.of("X-Amz-Signature", "User-Agent");
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmss'Z'");

    @Override
    public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {}

    @Override
    public void close() {}

    @Override
    public void handle(Callback[] callbacks) {
        for (Callback callback : callbacks) {
            if (callback instanceof OAuthBearerValidatorCallback) {
                OAuthBearerValidatorCallback validated = (OAuthBearerValidatorCallback) callback;
                try {
                    validated.token(check(validated.tokenValue()));
                } catch (Exception error) {
                    System.err.println("Iam: " + error);
                    validated.error("invalid_token", null, null);
                }
            }
        }
    }

    private static OAuthBearerToken check(String text) throws Exception {
        URI url = new URI(new String(Base64.getUrlDecoder().decode(text), StandardCharsets.UTF_8));
        TreeMap<String, String> parameters = new TreeMap<>();
        for (String pair : url.getRawQuery().split("&")) {
            parameters.put(pair.substring(0, pair.indexOf('=')), pair.substring(pair.indexOf('=') + 1));
        }
        String[] scope = plain(parameters.get("X-Amz-Credential")).split("/", 2);
        require(scope[0].equals(KEY), "key " + scope[0]);
        require(plain(parameters.get("Action")).equals("kafka-cluster:Connect"), "action");
        require(parameters.get("X-Amz-Signature").equals(sign(url, parameters, scope[1])), "signature");
        Instant start = LocalDateTime.parse(parameters.get("X-Amz-Date"), DATE).toInstant(ZoneOffset.UTC);
        Instant end = start.plusSeconds(Long.parseLong(parameters.get("X-Amz-Expires")));
        require(Instant.now().isBefore(end), "expired " + end);
        System.err.println("Iam: accepted, signed by " + plain(parameters.getOrDefault("User-Agent", "")));
        return token(text, start.toEpochMilli(), end.toEpochMilli());
    }

    private static String sign(URI url, TreeMap<String, String> parameters, String scope) throws Exception {
        StringBuilder query = new StringBuilder();
        parameters.forEach((name, value) -> {
            if (!UNSIGNED.contains(name)) {
                query.append(query.length() == 0 ? "" : "&").append(name).append('=').append(value);
            }
        });
        String request = "GET\n/\n" + query + "\nhost:" + url.getHost() + "\n\nhost\n" + sha256("");
        String toSign = "AWS4-HMAC-SHA256\n" + parameters.get("X-Amz-Date") + "\n" + scope + "\n" + sha256(request);
        byte[] key = ("AWS4" + SECRET).getBytes(StandardCharsets.UTF_8);
        for (String part : scope.split("/")) {
            key = hmac(key, part);
        }
        return HexFormat.of().formatHex(hmac(key, toSign));
    }

    private static OAuthBearerToken token(String text, long startMs, long endMs) {
        return new OAuthBearerToken() {
            @Override
            public String value() {
                return text;
            }

            @Override
            public Set<String> scope() {
                return Set.of();
            }

            @Override
            public long lifetimeMs() {
                return endMs;
            }

            @Override
            public String principalName() {
                return "User:" + KEY;
            }

            @Override
            public Long startTimeMs() {
                return startMs;
            }
        };
    }

    private static String sha256(String text) throws Exception {
        return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
    }

    private static byte[] hmac(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
    }

    private static String plain(String text) {
        return URLDecoder.decode(text, StandardCharsets.UTF_8);
    }

    private static void require(boolean holds, String problem) {
        if (!holds) {
            throw new IllegalArgumentException(problem);
        }
    }
}
