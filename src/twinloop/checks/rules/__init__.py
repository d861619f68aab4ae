"""The rules, one file each, in a folder for each family. They are found by walking this package."""
