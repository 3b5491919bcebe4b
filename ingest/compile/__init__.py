"""Key and value schemas become a `CompiledTable`: columns with types, converters, key and position.

Pure: schemas in, values out.  Converters are Spark SQL text, so that nothing here needs a JVM.
"""
