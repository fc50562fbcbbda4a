"""Who reads the blocks of a table and adds them up: this process, or workers."""
