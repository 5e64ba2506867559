"""The paper's variational methods: q of a family of set distributions, by the ELBO."""
