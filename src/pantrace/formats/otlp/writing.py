def save(header, rows, target, options):
    raise NotImplementedError
