def main(*a):
    pass
