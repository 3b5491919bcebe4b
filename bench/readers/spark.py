"""Read all columns of a Hudi table by Spark, with the bundle and at the path that the arguments name."""

import sys

from pyspark.sql import SparkSession

_, bundle, path = sys.argv
builder = SparkSession.builder.master("local[2]").config("spark.jars", bundle)
for key, value in {
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
    "spark.driver.memory": "3g",
    "spark.ui.enabled": "false",
}.items():
    builder = builder.config(key, value)
spark = builder.getOrCreate()
rows = spark.read.format("hudi").load(path) if path else spark.range(1)
rows.write.format("noop").mode("overwrite").save()
