"""Documents for a job: written by generate_card's machine from the person's evidence, and downloaded as files."""
