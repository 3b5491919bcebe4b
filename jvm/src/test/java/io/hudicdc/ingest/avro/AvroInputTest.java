package io.hudicdc.ingest.avro;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.Random;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.junit.jupiter.api.Test;

/** {@link AvroInput} against the bytes of Avro's own encoder, and against bytes that no encoder writes. */
class AvroInputTest {
    private static final long[] LONGS = {
        0, 1, -1, 63, 64, -64, -65, Integer.MAX_VALUE, Integer.MIN_VALUE, Long.MAX_VALUE, Long.MIN_VALUE
    };

    private static final long MOST_BYTES = 1_000;

    @FunctionalInterface
    private interface Writing {
        void to(BinaryEncoder encoder) throws IOException;
    }

    @Test
    void longsOfEveryLengthAreRead() throws IOException {
        for (long value : LONGS) {
            assertEquals(value, open(encoder -> encoder.writeLong(value)).readLong());
        }
        Random random = new Random(1);
        for (int round = 0; round < 10_000; round++) {
            long value = random.nextLong() >> random.nextInt(Long.SIZE);
            assertEquals(value, open(encoder -> encoder.writeLong(value)).readLong());
        }
    }

    @Test
    void anIntegerThatNeedsMoreBitsIsMalformed() throws IOException {
        AvroInput smallest = open(encoder -> encoder.writeInt(Integer.MIN_VALUE));
        assertEquals(Integer.MIN_VALUE, smallest.readInt());
        AvroInput larger = open(encoder -> encoder.writeLong(1L + Integer.MAX_VALUE));
        assertThrows(MalformedAvro.class, larger::readInt);
    }

    @Test
    void valuesBeyondTheMemoryOfOneRecordAreRefusedAndTheNextRecordBeginsAgain() {
        AvroInput input = open(new byte[0]);
        input.countDecoded(MOST_BYTES);
        assertSame(MalformedAvro.TOO_LARGE, assertThrows(MalformedAvro.class, () -> input.countDecoded(1)));
        input.open(new byte[0], 0);
        input.countDecoded(MOST_BYTES);
    }

    @Test
    void aNumberThatNeverEndsIsMalformed() {
        byte[] endless = new byte[20];
        Arrays.fill(endless, (byte) 0x80);
        assertThrows(MalformedAvro.class, () -> open(endless).readInt());
        assertThrows(MalformedAvro.class, () -> open(endless).readLong());
    }

    @Test
    void aSizeBeyondTheRecordIsMalformedBeforeAnythingIsAllocated() throws IOException {
        for (long size : new long[] {-1, 1, Integer.MAX_VALUE, Long.MAX_VALUE, Long.MIN_VALUE}) {
            AvroInput input = open(encoder -> encoder.writeLong(size));
            assertThrows(MalformedAvro.class, input::readBytes, Long.toString(size));
        }
    }

    @Test
    void bytesAndNumbersEndWhereTheNextValueBegins() throws IOException {
        AvroInput input = open(encoder -> {
            encoder.writeBytes(new byte[] {1, 2, 3});
            encoder.writeDouble(-0.5);
            encoder.writeFloat(1.5f);
            encoder.writeBoolean(true);
            encoder.writeString("é");
        });
        assertArrayEquals(new byte[] {1, 2, 3}, input.readBytes());
        assertEquals(-0.5, input.readDouble());
        assertEquals(1.5f, input.readFloat());
        assertEquals(true, input.readBoolean());
        assertEquals("é", input.readString().toString());
        assertEquals(0, input.left());
    }

    @Test
    void aBooleanIsZeroOrOne() {
        assertThrows(MalformedAvro.class, () -> open(new byte[] {2}).readBoolean());
    }

    private static AvroInput open(Writing writing) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
        writing.to(encoder);
        encoder.flush();
        return open(bytes.toByteArray());
    }

    private static AvroInput open(byte[] bytes) {
        AvroInput input = new AvroInput(MOST_BYTES);
        input.open(bytes, 0);
        return input;
    }
}
