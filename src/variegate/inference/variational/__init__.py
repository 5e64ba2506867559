"""The paper's variational methods: the member q of a family of set distributions with the largest ELBO."""
