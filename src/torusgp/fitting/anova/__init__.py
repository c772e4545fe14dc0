"""One prior, one pool, one loop: an ANOVA sum of all inputs, learned in the columns of the largest prior variance."""
