"""What the four ADK formats share: events, sessions, invocations, metric results."""
