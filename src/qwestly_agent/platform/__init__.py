"""What every store and workflow is made of: collections, records with their events, and work that is moved."""
