"""Jobs: found on boards at night or on demand, ranked, and given reasons that quote the advert and the person."""
