"""The local Kafka broker: one KRaft JVM, broker and controller in one."""

import base64
import uuid
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ingest.errors import LocalServerError
from ingest.jars.artifacts import broker_classpath
from ingest.local import registry
from ingest.local.ports import LOOPBACK, choose_port, listens
from ingest.spark import jdk

JAVA_AT_LEAST: Final = 17
JVM: Final = (
    "-Xmx512m -Xms128m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 "
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn -Dorg.slf4j.simpleLogger.showDateTime=true "
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd_HH:mm:ss"
)
START: Final = (
    f'[ -d kafka ] || {{ rm -rf kafka.new && "$0" {JVM} -cp "$1" kafka.tools.StorageTool format -t "$2" '
    "-c format.properties && mv kafka.new kafka; } || exit 1; "
    f'exec "$0" {JVM} -cp "$1" kafka.Kafka server.properties'
)
"""Formats the log folder once, in one move (a killed start leaves nothing half formatted), and runs."""
# Paths are relative to the working directory: Kafka splits `log.dirs` at commas.
PROPERTIES: Final = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@{host}:{controller_port}
listeners=PLAINTEXT://{host}:{port},CONTROLLER://{host}:{controller_port}
advertised.listeners=PLAINTEXT://{host}:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
# after a kill the broker is let in again when its old session has ended: 9 s by default
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=1000
num.network.threads=2
num.io.threads=2
log.cleaner.threads=1
# the default of 128 MB does not fit a small heap
log.cleaner.dedupe.buffer.size=8388608
log.index.size.max.bytes=1048576
# recorded messages are as old, or as far ahead, as their recording: never deleted, never refused
log.retention.ms=-1
log.message.timestamp.after.max.ms=9223372036854775807
log.message.timestamp.before.max.ms=9223372036854775807
# tests of retention and compaction do not wait for minutes
log.cleaner.backoff.ms=1000
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=500
"""


def prepare_broker(folder: Path, port: int) -> tuple[str, ...]:
    """Write the broker's settings.  Return the command that starts it in `folder`."""
    java = find_java()
    classpath = f"{broker_classpath()}/*"
    controller_port = choose_port(frozenset({port}))
    folder.mkdir(parents=True, exist_ok=True)
    for name, logs in (("format", "kafka.new"), ("server", "kafka")):
        text = PROPERTIES.format(host=LOOPBACK, port=port, controller_port=controller_port, folder=logs)
        (folder / f"{name}.properties").write_text(text)
    cluster_id = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
    return ("sh", "-c", START, java, classpath, cluster_id.replace("-", "_"))


def find_java() -> str:
    """Find a Java that can run the broker: JAVA_HOME's or the first on PATH, else the registry's."""
    java = jdk.find_java()
    if java.version >= JAVA_AT_LEAST:
        return java.program
    try:
        return registry.find_java()
    except LocalServerError:
        raise LocalServerError(
            "broker",
            f"{java.program} is Java {java.version}, and the broker needs Java {JAVA_AT_LEAST} or later",
            todo=f"Install Java {JAVA_AT_LEAST}, or set JAVA_HOME to it",
        ) from None


def broker_problem(port: int) -> str:
    """Return the reason why the broker cannot be used, or an empty text if it can."""
    if not listens(port):
        return "does not listen yet"
    admin = AdminClient({"bootstrap.servers": f"{LOOPBACK}:{port}", "log_level": 0})
    try:
        brokers = admin.list_topics(timeout=5).brokers
    except KafkaException as error:
        return f"answers: {error.args[0].str()}"
    return "" if brokers else "knows of no broker yet"
