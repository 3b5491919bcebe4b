package io.hudicdc.ingest.hudi;

import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ParsedStatement;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.LogicalRelation;

/** A rule that changes only statements and plans that read a relation; other plans do not reach it. */
final class ScanRule extends Rule<LogicalPlan> {
    private final Rule<LogicalPlan> rule;

    ScanRule(Rule<LogicalPlan> rule) {
        this.rule = rule;
    }

    /** Return the rule's own name, by which users exclude it ({@code spark.sql.optimizer.excludedRules}). */
    @Override
    public String ruleName() {
        return rule.ruleName();
    }

    @Override
    public LogicalPlan apply(LogicalPlan plan) {
        return plan.exists(ScanRule::isConcerned) ? rule.apply(plan) : plan;
    }

    private static boolean isConcerned(Object node) {
        return node instanceof LogicalRelation || node instanceof Command || node instanceof ParsedStatement;
    }
}
