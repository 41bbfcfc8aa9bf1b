"""The checks: each a function of a subject that raises `CheckFailed` or `NotApplicable`."""
