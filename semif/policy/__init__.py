"""Policies: when an answer is good enough to act on, and what is done otherwise. See docs/policy.md."""

from semif.policy.bars import Bar
from semif.policy.conditions import Condition
from semif.policy.made_for import Answerer, MadeFor, Mismatch
from semif.policy.outcome import EndpointAnswer, NoAnswer, Outcome, Shortfall
from semif.policy.policy import Policy
from semif.policy.policy_file import load_policy, write_policy
from semif.policy.rules import PERSON, Fallback, Rule, Veto

__all__ = [
    "PERSON",
    "Answerer",
    "Bar",
    "Condition",
    "EndpointAnswer",
    "Fallback",
    "MadeFor",
    "Mismatch",
    "NoAnswer",
    "Outcome",
    "Policy",
    "Rule",
    "Shortfall",
    "Veto",
    "load_policy",
    "write_policy",
]
