"""Documents for a job: written by the state machine of generate_card from the person's evidence, and downloaded as
files."""
