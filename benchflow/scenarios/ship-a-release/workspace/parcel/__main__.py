from parcel.cli import main

main()
