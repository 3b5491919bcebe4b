package io.hudicdc.ingest.json;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A dotted path of an update description, such as {@code addr.city} or {@code tags.1}, applied to a tree.
 *
 * <p>A path does not distinguish an index {@code 1} from a name, nor a dot inside a name from a separator: the document
 * decides. A change that does not fit the document is ignored: it is older than the document, as when a snapshot has
 * read a later state, and the following changes include it.
 */
final class DocumentPath {
    /** MongoDB itself pads an array with at most this many nulls; here it is the limit of a whole update. */
    static final int MAX_PADDING = 1_500_000;

    /** MongoDB nests at most 100 levels; more steps than that are dots inside names. */
    private static final int MAX_STEPS = 1_000;

    private static final int MISSING = -1;

    private final String[] steps;
    private final int[] padding;

    DocumentPath(String dotted) {
        this(dotted, new int[] {MAX_PADDING});
    }

    /** Take a path, and how many nulls it and other paths may still pad arrays with. */
    DocumentPath(String dotted, int[] padding) {
        this.steps = dotted.split("\\.", MAX_STEPS + 1);
        this.padding = padding;
        if (steps.length > MAX_STEPS) {
            throw new IllegalArgumentException("a path of more than " + MAX_STEPS + " steps");
        }
    }

    void set(Map<String, Object> root, Object value) {
        Object node = root;
        for (int at = 0; node != null; ) {
            int end = node instanceof Map ? stepEnd(Json.map(node), at) : at + 1;
            if (end == steps.length) {
                put(node, name(at, end), value);
                return;
            }
            node = descend(node, name(at, end));
            at = end;
        }
    }

    /** Remove a field from its object; an element of an array becomes null, as with $unset. */
    void remove(Map<String, Object> root) {
        Object node = root;
        for (int at = 0; isContainer(node); ) {
            int end = node instanceof Map ? stepEnd(Json.map(node), at) : at + 1;
            String name = name(at, end);
            if (end == steps.length) {
                drop(node, name);
                return;
            }
            node = child(node, name);
            at = end;
        }
    }

    void truncate(Map<String, Object> root, int size) {
        Object node = root;
        for (int at = 0; at < steps.length && isContainer(node); ) {
            int end = node instanceof Map ? stepEnd(Json.map(node), at) : at + 1;
            node = child(node, name(at, end));
            at = end;
        }
        if (node instanceof List && size >= 0 && size < Json.list(node).size()) {
            Json.list(node).subList(size, Json.list(node).size()).clear();
        }
    }

    private String name(int from, int to) {
        return String.join(".", List.of(steps).subList(from, to));
    }

    /** Return how many steps form the next name: those of an existing whole path, else of an existing prefix. */
    private int stepEnd(Map<String, Object> node, int at) {
        int start = 0;
        for (int end = at + 1; end <= steps.length; end++) {
            String name = name(at, end);
            if (node.containsKey(name)) {
                if (exists(node.get(name), end)) {
                    return end;
                }
                start = start == 0 ? end : start;
            }
        }
        return start == 0 ? at + 1 : start;
    }

    private boolean exists(Object node, int at) {
        if (at == steps.length) {
            return true;
        }
        if (node instanceof List) {
            int index = index(steps[at]);
            return index != MISSING
                    && index < Json.list(node).size()
                    && exists(Json.list(node).get(index), at + 1);
        }
        if (!isContainer(node)) {
            return false;
        }
        for (int end = at + 1; end <= steps.length; end++) {
            String name = name(at, end);
            if (Json.map(node).containsKey(name) && exists(Json.map(node).get(name), end)) {
                return true;
            }
        }
        return false;
    }

    /** Return a child; a missing or scalar child becomes an object first. */
    private Object descend(Object node, String name) {
        Object child = child(node, name);
        if (isContainer(child)) {
            return child;
        }
        Map<String, Object> created = new LinkedHashMap<>();
        return put(node, name, created) ? created : null;
    }

    private boolean put(Object node, String name, Object value) {
        if (node instanceof Map) {
            Json.map(node).put(name, value);
            return true;
        }
        List<Object> elements = Json.list(node);
        int index = index(name);
        int missing = Math.max(index - elements.size(), 0);
        if (index == MISSING || missing > padding[0]) {
            return false;
        }
        padding[0] -= missing;
        while (elements.size() <= index) {
            elements.add(null);
        }
        elements.set(index, value);
        return true;
    }

    private static void drop(Object node, String name) {
        if (node instanceof Map) {
            Json.map(node).remove(name);
        } else if (index(name) != MISSING && index(name) < Json.list(node).size()) {
            Json.list(node).set(index(name), null);
        }
    }

    private static Object child(Object node, String name) {
        if (node instanceof Map) {
            return Json.map(node).get(name);
        }
        int index = index(name);
        return index == MISSING || index >= Json.list(node).size()
                ? null
                : Json.list(node).get(index);
    }

    /** Return whether a node is a document or an array; a wrapper such as {"$date": …} is a value. */
    private static boolean isContainer(Object node) {
        return node instanceof List || (node instanceof Map && ExtendedJson.scalar(Json.map(node)) == null);
    }

    private static int index(String step) {
        boolean digits = !step.isEmpty() && step.length() < 10 && step.chars().allMatch(c -> c >= '0' && c <= '9');
        return digits ? Integer.parseInt(step) : MISSING;
    }
}
