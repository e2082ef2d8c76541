from pantrace.model import Record
class Options(Record, frozen=True, kw_only=True):
    pass
def dump(sample, options):
    raise NotImplementedError
