from benchmarks.peers.tables.comparison import main

main()
