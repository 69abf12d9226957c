"""The budgets of a trial: what is counted, when the agent is warned, when it is stopped. No wire, no process."""
