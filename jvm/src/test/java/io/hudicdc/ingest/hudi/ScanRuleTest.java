package io.hudicdc.ingest.hudi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.List;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.command.ClearCacheCommand$;
import org.junit.jupiter.api.Test;
import scala.collection.JavaConverters;
import scala.collection.Seq;
import scala.collection.immutable.Map$;

/** Plans that read a relation are in tests/spark/test_context.py: a relation needs a session. */
final class ScanRuleTest {
    private static final LogicalPlan PLAN = new OneRowRelation();
    private static final LogicalPlan CHANGED = new OneRowRelation();

    private final Rule<LogicalPlan> inner = new Replacing();
    private final ScanRule rule = new ScanRule(inner);

    @Test
    void aPlanWithoutARelationDoesNotReachTheRule() {
        assertSame(PLAN, rule.apply(PLAN));
    }

    @Test
    void statementsReachTheRule() {
        Seq<String> noColumns = JavaConverters.asScalaBuffer(List.<String>of());
        LogicalPlan insert = new InsertIntoStatement(PLAN, Map$.MODULE$.empty(), noColumns, PLAN, false, false, false);

        assertSame(CHANGED, rule.apply(insert));
        assertSame(CHANGED, rule.apply(ClearCacheCommand$.MODULE$));
    }

    @Test
    void usersExcludeTheRuleByItsOwnName() {
        assertEquals(inner.ruleName(), rule.ruleName());
    }

    private static final class Replacing extends Rule<LogicalPlan> {
        @Override
        public LogicalPlan apply(LogicalPlan plan) {
            return CHANGED;
        }
    }
}
