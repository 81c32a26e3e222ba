"""A design with an onboarding and a reader of résumés of its own; all else is the default's."""

from by_headings.design import DESIGN as DESIGN
