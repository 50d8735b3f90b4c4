"""Who is told when an endpoint is in trouble: topic, alarms and dashboard."""
