package io.hudicdc.ingest;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A dotted path of an update description, such as {@code addr.city} or {@code tags.1}, and what it does to a tree.
 *
 * <p>The path does not say whether {@code 1} is an index or a name, nor whether a dot is part of a name: the
 * document decides. What does not fit the document is left alone: then the change is older than the document, as
 * when a snapshot had read a later state already, and the changes that follow bring it up.
 */
final class DocumentPath {
    /** MongoDB itself pads an array with no more nulls than this. */
    private static final int MAX_PADDING = 1_500_000;

    private static final int MISSING = -1;

    private final String[] steps;

    DocumentPath(String dotted) {
        this.steps = dotted.split("\\.", -1);
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

    /** Take a field out of its object; an array's element becomes null, as $unset leaves it. */
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

    /** Choose how many steps are the next name: those of a whole path that is there, else of a start that is. */
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

    /** Go to a child; a missing or scalar one becomes an object first. */
    private static Object descend(Object node, String name) {
        Object child = child(node, name);
        if (isContainer(child)) {
            return child;
        }
        Map<String, Object> made = new LinkedHashMap<>();
        return put(node, name, made) ? made : null;
    }

    private static boolean put(Object node, String name, Object value) {
        if (node instanceof Map) {
            Json.map(node).put(name, value);
            return true;
        }
        List<Object> elements = Json.list(node);
        int index = index(name);
        if (index == MISSING || index - elements.size() > MAX_PADDING) {
            return false;
        }
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

    /** Tell documents and arrays from values; a wrapper such as {"$date": …} is a value. */
    private static boolean isContainer(Object node) {
        return node instanceof List || (node instanceof Map && ExtendedJson.scalar(Json.map(node)) == null);
    }

    private static int index(String step) {
        boolean digits = !step.isEmpty() && step.length() < 10 && step.chars().allMatch(c -> c >= '0' && c <= '9');
        return digits ? Integer.parseInt(step) : MISSING;
    }
}
