"""Documents for a job: written by generate_card's machine from what their person said, and taken away as files."""
