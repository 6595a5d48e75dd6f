"""Pictures of a case, drawn from its images."""
