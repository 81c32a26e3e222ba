"""What of the rules about words the checks of memory still stand on."""
