"""Operations on tables apart from a run: plan, status, offsets, rejects, versions, signals."""
