"""The catalog: what manifests, registry and journal say, in SQL, for queries. It can be made anew any time."""
